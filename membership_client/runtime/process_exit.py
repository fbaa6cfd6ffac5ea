"""Members and the life of their process: forks and interpreter exit."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Protocol

from membership_client.types import CloseReport, LeaveMode

_EXIT_TIMEOUT_S = 3.0
"""A process that ends without closing its members still says goodbye, but is not held up for long."""


class _Mortal(Protocol):
    def _begin_close(self, leave: LeaveMode, reason: str | None, timeout_s: float | None) -> None: ...
    def close(
        self, leave: LeaveMode = ..., *, reason: str | None = ..., timeout_s: float | None = ...
    ) -> CloseReport: ...
    def _after_fork(self) -> None: ...


_members: weakref.WeakSet[_Mortal] = weakref.WeakSet()


def register(member: _Mortal) -> None:
    """From now on a forked child finds the member closed, and interpreter exit closes it."""
    _members.add(member)


def _in_forked_child() -> None:
    for member in tuple(_members):
        member._after_fork()  # noqa: SLF001 - not for users, and this module is its only caller
    _members.clear()


def _at_exit() -> None:
    """All of them leave at the same time; none holds up the others."""
    members, reason = tuple(_members), "the interpreter ended"
    for member in members:
        member._begin_close(LeaveMode.DEFAULT, reason, _EXIT_TIMEOUT_S)  # noqa: SLF001 - as above
    for member in members:
        member.close(reason=reason, timeout_s=_EXIT_TIMEOUT_S)


os.register_at_fork(after_in_child=_in_forked_child)
atexit.register(_at_exit)
