"""Where epochs lie: `epoch=<id>/` for those that are published, `_attempts/` for those that are not."""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import Protocol

ATTEMPTS = "_attempts"
"""The underscore keeps Spark from looking inside."""

_EPOCH = re.compile(r"epoch=([0-9]+)")


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

    def clean(self, group: str) -> None:
        """Delete the attempts of that group, and nothing else."""


def new_attempt(epoch: int, group: str) -> str:
    """A name that no other attempt has."""
    return f"{epoch}-{_mark_of(group)}-{uuid.uuid4().hex}"


def is_attempt_of(group: str, name: str) -> bool:
    """Whether `new_attempt` made that name for that group."""
    return re.fullmatch(rf"\d+-{_mark_of(group)}-[0-9a-f]{{32}}", name) is not None


def _mark_of(group: str) -> str:
    """Not the group's name: it may have characters that file systems do not take."""
    return hashlib.sha256(group.encode()).hexdigest()[:16]


def directory_of(epoch: int) -> str:
    """Zero-padded, so that listings are in order; Spark reads it as a number."""
    return f"epoch={epoch:012d}"


def epoch_of(directory: str) -> int | None:
    found = _EPOCH.fullmatch(directory)
    return int(found[1]) if found else None
