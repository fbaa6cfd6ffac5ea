"""The packages whose mutants are judged: where they are, by which tests they are judged, and which share must be caught."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SOURCES = (Path("membership_client"), Path("integrations/spark/membership_client_spark"))
"""Directories of the project in which files are looked for, by names such as core/joining.py."""


@dataclass(frozen=True, slots=True)
class Package:
    """A directory or a file, the tests that judge its mutants, and the least share of mutants that these must catch.

    Equivalent mutants do not count. With `is_simulated`, seeds of the simulation judge as well.
    """

    name: str
    tests: tuple[str, ...]
    goal: float = 0.85
    is_simulated: bool = False

    def has(self, file: Path) -> bool:
        return file.is_relative_to(path_of(self.name))


_RUNTIME = ("tests/unit", "tests/worker", "tests/arguments")
_BUFFER = ("tests/consumer/test_buffer.py", "tests/consumer/test_handing_out.py")
_TRACE = tuple(
    f"tests/trace/test_{name}.py"
    for name in ("commits", "files", "format", "journal", "line", "refusals", "torn", "trace_file", "trace_thread")
)
"""Without those that read files in another process, where there is no mutant."""
_SECURITY = (
    "tests/security",
    "tests/arguments/test_security_keys.py",
    "tests/net/test_authentication.py",
    "tests/net/test_tls.py",
    "tests/unit/test_given_credentials.py",
)
_LEASES = (
    "tests/spark/test_accepting.py",
    "tests/spark/test_leases.py",
    "tests/spark/test_ledger.py",
    "tests/spark/test_sealing.py",
    "tests/spark/test_strangers.py",
)

PACKAGES = (
    Package("core", ("tests/core", "tests/unit", "tests/worker"), goal=0.95, is_simulated=True),
    Package("net", ("tests/net",)),
    Package("trace", _TRACE),
    Package("security", _SECURITY),
    Package("identity", ("tests/identity", "tests/arguments/test_offline.py")),
    Package("runtime/offsets.py", _RUNTIME),
    Package("runtime/worker.py", _RUNTIME),
    Package("runtime/listener.py", _RUNTIME),
    Package("runtime/ownership.py", _RUNTIME),
    Package("arguments.py", _RUNTIME),
    Package("consumer/buffer.py", _BUFFER),
    Package(
        "consumer/bridge.py", ("tests/consumer/simulation",), goal=0.55
    ),  # Its table has no tests but the simulation.
    Package("leases", _LEASES),
)


def path_of(name: str) -> Path:
    """Where a file or a directory is, from the project's root. Raises FileNotFoundError if it is in none of SOURCES."""
    found = [source / name for source in SOURCES if (source / name).exists()]
    if not found:
        raise FileNotFoundError(f"{name} is in none of {', '.join(map(str, SOURCES))}")
    return found[0]


def name_of(file: Path) -> str:
    """What `path_of` was given."""
    source = next(source for source in SOURCES if file.is_relative_to(source))
    return file.relative_to(source).as_posix()


def module_of(file: Path) -> str:
    """The name to import it by."""
    source = next(source for source in SOURCES if file.is_relative_to(source))
    return ".".join(file.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__")


def packages_of(files: Iterable[Path]) -> list[Package]:
    """Those that have one of the files."""
    files = list(files)
    return [package for package in PACKAGES if any(package.has(file) for file in files)]
