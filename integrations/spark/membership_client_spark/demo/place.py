"""Where the demonstration keeps its files: a directory that is gone afterwards, or one that the user named."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


class PlaceError(RuntimeError):
    """The directory cannot be used; the message says why."""


@contextlib.contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """PlaceError if `keep` is there and has something in it."""
    if keep is not None:
        yield _own(keep.absolute())
        return
    # What an executor that is being killed still writes must not spoil the clean-up.
    with tempfile.TemporaryDirectory(prefix="membership-client-spark-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def _own(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        taken = any(directory.iterdir())
    except OSError as error:
        raise PlaceError(f"--keep {directory}: {error.strerror}.") from error
    if taken:
        raise PlaceError(f"--keep {directory}: there is something in it; give a directory that is new or empty.")
    return directory
