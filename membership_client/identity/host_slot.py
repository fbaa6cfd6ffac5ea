"""A number on this host that no other process has: a locked file, which the kernel unlocks however the process ends."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from membership_client.errors import ConfigError
from membership_client.identity.errors import SlotsTakenError, UnstableIdentityError
from membership_client.identity.kubernetes import is_pod, refuse_deployment, refuse_generated
from membership_client.identity.numbered import numbered_id

_CONTAINER = re.compile(r"[0-9a-f]{12}")
_held: weakref.WeakSet[HostSlot] = weakref.WeakSet()


class HostSlot:
    """The lowest free number among `slots`, held until `close`, or until this process ends in whatever way.

    `instance_id` is `<name>-<host>-<number>`. Who comes next after a crash gets the same number, if nobody else was
    faster. All processes of one name and host must use the same directory, on a local disk that is not swept: by default
    `~/.local/state/membership-client/slots`. A forked child does not hold its parent's slot.

    Raises:
        SlotsTakenError: other processes have all of them.
        UnstableIdentityError: the host's name is random, as in a container.
    """

    def __init__(
        self, name: str, *, slots: int = 100, directory: str | Path | None = None, host: str | None = None
    ) -> None:
        self.host = _stable_host(host)
        numbered_id(f"{name}-{self.host}", slots)  # For its ConfigError, before anything is made.
        folder = _made(Path(directory) if directory else Path.home() / ".local/state/membership-client/slots")
        self.number, self._file = _lock_first(folder, f"{name}-{self.host}", slots)
        self.instance_id = numbered_id(f"{name}-{self.host}", self.number)
        _held.add(self)

    def close(self) -> None:
        """Lets go of the slot. May be repeated."""
        if self._file >= 0:
            # Said, and not left to the last copy of the file: a child that was just forked may still have one.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._drop()

    def _drop(self) -> None:
        """Without unlocking: that is for the process that locked it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _stable_host(given: str | None) -> str:
    """Real hosts have names such as build-srv24, too: of five such letters only Kubernetes' own are known to be random."""
    host = given or socket.gethostname()
    (refuse_generated if given is None and is_pod() else refuse_deployment)(host)
    if _CONTAINER.fullmatch(host) or host.partition(".")[0] == "localhost":
        raise UnstableIdentityError(
            f"The host name {host} is that of a container or of every host, and tells no host from another. "
            "Give the container a name (docker run --hostname), or pass host=."
        )
    return host


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made ({error.strerror}): pass directory=, on a local disk.") from error
    return folder


def _lock_first(folder: Path, name: str, slots: int) -> tuple[int, int]:
    for number in range(slots):
        if (file := _lock(folder / f"{name}-{number}.lock")) is not None:
            return number, file
    raise SlotsTakenError(f"All {slots} slots of {name} in {folder} are taken.")


def _lock(path: Path) -> int | None:
    """The open file, or None if another process has it."""
    # Not inherited by programs that are started from here.
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    # For whoever wonders who holds it.
    os.ftruncate(file, 0)
    os.write(file, f"{os.getpid()}\n".encode())
    return file


def _let_go() -> None:
    """In a forked child: the lock is the parent's, and would outlive it here."""
    for slot in list(_held):
        slot._drop()  # noqa: SLF001 - the same file


os.register_at_fork(after_in_child=_let_go)
