"""Where epochs lie: `epoch=<id>/` for those that are published, `_attempts/` for those that are not."""

from __future__ import annotations

import re
from typing import Protocol

ATTEMPTS = "_attempts"
"""The underscore keeps Spark from looking inside."""

_EPOCH = re.compile(r"epoch=(\d+)")


class Storage(Protocol):
    """One sink's directory on some file system."""

    def epochs(self) -> list[int]:
        """Those that are published, in any order."""

    def manifest(self, epoch: int) -> str | None:
        """Its text; None if the epoch is not published."""

    def place_for(self, attempt: str) -> str:
        """Where Spark is to write the rows of an attempt."""

    def publish(self, attempt: str, epoch: int, manifest: str) -> bool:
        """Rows and manifest become visible in one step. False, and nothing is, if the epoch was there before."""

    def clean(self) -> None:
        """Delete all attempts."""


def directory_of(epoch: int) -> str:
    """Zero-padded, so that listings are in order; Spark reads it as a number."""
    return f"epoch={epoch:012d}"


def epoch_of(directory: str) -> int | None:
    found = _EPOCH.fullmatch(directory)
    return int(found[1]) if found else None
