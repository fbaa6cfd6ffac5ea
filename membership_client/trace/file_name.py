"""The name of a trace file: a template, filled in with names that cannot lead out of its directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def trace_path(template: str, *, pid: int, **names: str) -> Path:
    """`names` are ids that anybody may have chosen: `../../etc/x` becomes `%2E.%2F..%2Fetc%2Fx`."""
    from pathlib import Path  # noqa: PLC0415 - loads urllib

    return Path(template.format(pid=pid, **{key: _one_component(name) for key, name in names.items()}))


def _one_component(name: str) -> str:
    """As a URL would quote it, but for letters of all scripts. No dot at its start: two names may stand side by side."""
    quoted = "".join(letter if letter.isprintable() and letter not in "/\\%" else _quoted(letter) for letter in name)
    return _quoted(".") + quoted[1:] if quoted.startswith(".") else quoted


def _quoted(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode(errors="surrogatepass"))
