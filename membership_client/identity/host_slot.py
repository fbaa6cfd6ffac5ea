"""A number that no other process on this host has: a locked file, which the kernel unlocks when the process ends.

No other user may open the file, because a user who can open it, even only to read it, can also lock it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import stat
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from membership_client.arguments import MOST_INT32, checked_path, checked_text, checked_whole, optional, plain
from membership_client.errors import ConfigError
from membership_client.identity.platforms import (
    SlotsTakenError,
    UnstableIdentityError,
    is_pod,
    numbered_id,
    refuse_deployment,
    refuse_generated,
)

_CONTAINER = re.compile(r"[0-9a-f]{12}")
_held: weakref.WeakSet[HostSlot] = weakref.WeakSet()


class HostSlot:
    """The lowest free number among `slots`, held until `close`, or until this process ends.

        with HostSlot("till", slots=8) as slot:
            config = {"bootstrap.servers": "localhost:9092", "group.id": "tills", "group.instance.id": slot.instance_id}
            with GroupMember(config) as member:
                member.subscribe(["orders"])

    `instance_id` is `<name>-<host>-<number>`. The next process after a crash gets the same number, if no other process was
    faster. All processes of one name and host must use the same directory, on a local disk from which no program deletes old
    files: by default `~/.local/state/membership-client/slots`. A forked child does not hold its parent's slot. Only the user
    who runs these processes can open the lock files.

    Raises:
        ConfigError: the name is not legal, or the directory or lock file cannot be used, or other users could lock it.
        SlotsTakenError: other processes hold all slots.
        UnstableIdentityError: the host's name is random, as in a container.
    """

    def __init__(
        self, name: str, *, slots: int = 100, directory: str | Path | None = None, host: str | None = None
    ) -> None:
        self.host = _stable_host(optional(checked_text, "host", host))
        name = plain(name)
        _check(name, self.host, slots)
        folder = lock_directory(optional(checked_path, "directory", directory) or _default_directory())
        self.number, file = _lock_first(folder, f"{name}-{self.host}", slots)
        self._file: int | None = file
        self.instance_id = numbered_id(f"{name}-{self.host}", self.number)
        _held.add(self)

    def close(self) -> None:
        """Release the slot. May be called again."""
        if self._file is not None:
            # Closing alone would not unlock it while a child that was just forked has a copy of the descriptor.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._drop()

    def _drop(self) -> None:
        """Close the file without unlocking it: the process that locked it unlocks it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check(name: str, host: str, slots: int) -> None:
    """ConfigError for arguments that cannot be used, before anything is made."""
    checked_whole("slots", slots, least=1, most=MOST_INT32)
    numbered_id(name, slots)
    numbered_id(f"{name}-{host}", slots)


def _stable_host(given: str | None) -> str:
    """The name of this host. UnstableIdentityError for the name of a container.

    Hosts may have names such as build-srv24, so a suffix of five random letters is refused only in a pod.
    """
    host = given or socket.gethostname()
    (refuse_generated if given is None and is_pod() else refuse_deployment)(host)
    if _CONTAINER.fullmatch(host) or host.partition(".")[0] == "localhost":
        raise UnstableIdentityError(
            f"The host name {host} is that of a container or of every host, and does not identify a host. "
            "Give the container a name (docker run --hostname), or pass host=."
        )
    return host


def _default_directory() -> Path:
    try:
        return Path.home() / ".local/state/membership-client/slots"
    except RuntimeError as error:
        raise ConfigError("This user has no home directory: pass directory=, on a local disk.") from error


def _lock_first(folder: Path, name: str, slots: int) -> tuple[int, int]:
    for number in range(slots):
        if (file := lock_file(folder / f"{name}-{number}.lock")) is not None:
            return number, file
    raise SlotsTakenError(f"All {slots} slots of {name} in {folder} are taken.")


def _drop_in_child() -> None:
    """In a forked child: drop the parent's slots. Open copies of the descriptors would keep them after the parent's end."""
    for slot in list(_held):
        slot._drop()  # noqa: SLF001 - the same file


os.register_at_fork(after_in_child=_drop_in_child)


# --- the locked file -------------------------------------------------------------------------------------------------


_ELSEWHERE = "pass directory=, one on a local disk that belongs to this user alone"


def lock_directory(folder: Path) -> Path:
    """The directory, made for this user alone if it was not there. ConfigError if other users could replace files in it."""
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
    """The open and locked file; None if another process has locked it.

    Raises:
        ConfigError: the file cannot be opened or locked, is no plain file, or belongs to another user.
    """
    while (file := _opened(path)) is not None:
        if _has_name(file, path):
            return file
        os.close(
            file
        )  # The file was deleted before it was locked: the next process would lock a new file of that name.
    return None


def _opened(path: Path) -> int | None:
    try:
        # A symbolic link is not followed, because the file will be emptied.
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
    _write_pid(file)
    return file


def _close_to_others(file: int, path: Path) -> None:
    """Make the file private: every user could read, and therefore lock, files of earlier versions of this library."""
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


def _write_pid(file: int) -> None:
    """Write the pid into the file, for operators who look for the holder. Errors such as a full disk are ignored."""
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
