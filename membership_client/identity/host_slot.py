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

from membership_client.arguments import MOST_INT32, checked_path, checked_text, checked_whole, optional
from membership_client.errors import ConfigError
from membership_client.identity.errors import SlotsTakenError, UnstableIdentityError
from membership_client.identity.kubernetes import is_pod, refuse_deployment, refuse_generated
from membership_client.identity.lock_file import lock_directory, lock_file
from membership_client.identity.numbered import numbered_id

_CONTAINER = re.compile(r"[0-9a-f]{12}")
_held: weakref.WeakSet[HostSlot] = weakref.WeakSet()


class HostSlot:
    """The lowest free number among `slots`, held until `close`, or until this process ends in whatever way.

    `instance_id` is `<name>-<host>-<number>`. Who comes next after a crash gets the same number, if nobody else was
    faster. All processes of one name and host must use the same directory, on a local disk that is not swept: by default
    `~/.local/state/membership-client/slots`. A forked child does not hold its parent's slot. Lock files can be opened by
    the user who runs these processes, and by no other.

    Raises:
        ConfigError: no legal name, or a directory or lock file that cannot be used, or that other users could lock.
        SlotsTakenError: other processes have all of them.
        UnstableIdentityError: the host's name is random, as in a container.
    """

    def __init__(
        self, name: str, *, slots: int = 100, directory: str | Path | None = None, host: str | None = None
    ) -> None:
        self.host = _stable_host(optional(checked_text, "host", host))
        _check(name, self.host, slots)
        folder = lock_directory(optional(checked_path, "directory", directory) or _default_directory())
        self.number, file = _lock_first(folder, f"{name}-{self.host}", slots)
        self._file: int | None = file
        self.instance_id = numbered_id(f"{name}-{self.host}", self.number)
        _held.add(self)

    def close(self) -> None:
        """Lets go of the slot. May be repeated."""
        if self._file is not None:
            # Said, and not left to the last copy of the file: a child that was just forked may still have one.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._drop()

    def _drop(self) -> None:
        """Without unlocking: that is for the process that locked it."""
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
    """ConfigError, before anything is made."""
    checked_whole("slots", slots, least=1, most=MOST_INT32)
    numbered_id(name, slots)
    numbered_id(f"{name}-{host}", slots)


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


def _let_go() -> None:
    """In a forked child: the lock is the parent's, and would outlive it here."""
    for slot in list(_held):
        slot._drop()  # noqa: SLF001 - the same file


os.register_at_fork(after_in_child=_let_go)
