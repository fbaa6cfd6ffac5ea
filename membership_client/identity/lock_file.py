"""A locked file that no other user can open, since who can open a file, if only to read it, can lock it too."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from membership_client.errors import ConfigError

_ELSEWHERE = "pass directory=, one on a local disk that belongs to this user alone"


def lock_directory(folder: Path) -> Path:
    """The directory, made for this user alone if it was not there. ConfigError if lock files in it would be worth nothing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made ({error.strerror}): {_ELSEWHERE}.") from error
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise ConfigError(
            f"In {folder} every user may replace files, and two processes could lock two files of one name: "
            f"chmod o-w {folder}, or {_ELSEWHERE}."
        )
    return folder


def lock_file(path: Path) -> int | None:
    """The open file, locked, or None if another process has locked it.

    Raises:
        ConfigError: it cannot be opened or locked, is no plain file, or belongs to another user.
    """
    while (file := _opened(path)) is not None:
        if _has_name(file, path):
            return file
        os.close(file)  # Somebody deleted it before it was locked: the next process would lock another one.
    return None


def _opened(path: Path) -> int | None:
    try:
        # No link is followed, since the file will be emptied.
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be opened ({error.strerror}): delete it, or {_ELSEWHERE}.") from error
    try:
        _close_to_others(file, path)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    except OSError as error:
        os.close(file)
        raise ConfigError(f"{path} cannot be locked ({error.strerror}): {_ELSEWHERE}.") from error
    except ConfigError:
        os.close(file)
        raise
    _sign(file)
    return file


def _close_to_others(file: int, path: Path) -> None:
    """Files of earlier versions could be read, and so locked, by everyone."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"{path} is no plain file: delete it, or {_ELSEWHERE}.")
    if found.st_uid != os.geteuid():
        raise ConfigError(f"{path} belongs to user {found.st_uid}, who can lock it at any time: {_ELSEWHERE}.")
    os.fchmod(file, 0o600)


def _has_name(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    """For whoever wonders which process holds it. A full disk is no reason to fail."""
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
