"""A Python environment that has a wheel, what its metadata asks for, and nothing else; made without a network."""

from __future__ import annotations

import os
import subprocess
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


class Environment:
    """Packages are links to those of the environment that runs the tests, one by one."""

    def __init__(self, directory: Path, wheel: Path, extra: str | None) -> None:
        venv.create(directory, symlinks=True)
        (self._packages,) = directory.glob("lib/python*/site-packages")
        self._python = directory / "bin" / "python"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self._packages)
        (metadata,) = self._packages.glob("*.dist-info")
        self._wheel = Distribution.at(metadata)
        self._link_all(self._wheel, {extra} if extra else set(), set())

    def requirements(self, extra: str) -> list[Requirement]:
        """What only that extra of the wheel asks for."""
        wanted = map(Requirement, self._wheel.requires or ())
        return [one for one in wanted if one.marker is not None and one.marker.evaluate({"extra": extra})]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python with these arguments, outside of the project, with nothing of the tests' own environment."""
        kept = {name: value for name, value in os.environ.items() if name in {"HOME", "JAVA_HOME", "PATH"}}
        command: list[str | Path] = [self._python, *arguments]
        return subprocess.run(
            command, cwd=self._packages, env=kept, capture_output=True, text=True, check=False, timeout=600
        )

    def _link_all(self, wanting: Distribution, extras: set[str], done: set[tuple[str, str]]) -> None:
        for text in wanting.requires or ():
            wanted = Requirement(text)
            marker = wanted.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
                self._link(wanted, done)

    def _link(self, wanted: Requirement, done: set[tuple[str, str]]) -> None:
        key = (wanted.name.lower(), ",".join(sorted(wanted.extras)))
        if key in done:
            return
        done.add(key)
        found = distribution(wanted.name)
        for name in {file.parts[0] for file in found.files or () if ".." not in file.parts}:
            if not (self._packages / name).exists():
                (self._packages / name).symlink_to(Path(str(found.locate_file(name))))
        self._link_all(found, wanted.extras, done)
