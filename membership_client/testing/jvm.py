"""The command line of a broker's JVM: small, and quick to start."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# A test broker runs for seconds: the optimising compiler and a concurrent collector would only make its start slower.
_OPTIONS = ("-Xms96m", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


@dataclass(frozen=True, slots=True)
class Jvm:
    """A Java and the jars that it runs."""

    java: Path
    jars: tuple[Path, ...]
    options: tuple[str, ...] = ()

    def command(self, main_class: str, *arguments: str | Path) -> list[str | Path]:
        """The command that runs `main_class`."""
        classpath = os.pathsep.join(map(str, self.jars))
        return [self.java, *_OPTIONS, *self._archive(), *self.options, "-cp", classpath, main_class, *arguments]

    @property
    def class_archive(self) -> Path:
        """The file of this Java's class archive for Kafka, which halves a broker's start-up time. It is empty if Java could make none."""
        binary = self.java.resolve()
        status = binary.stat()
        key = zlib.crc32(f"{binary} {status.st_size} {status.st_mtime_ns}".encode())
        return self.jars[0].parent / f"classes-{key:08x}.jsa"

    def _archive(self) -> Sequence[str]:
        # The JVM ignores an archive that was made with another Java or other jars.
        archive = self.class_archive
        return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() and archive.stat().st_size else []
