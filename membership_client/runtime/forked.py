"""Members at the two ends of a process: what they do in a forked child, and how they close when the interpreter ends."""

from __future__ import annotations

import atexit
import inspect
import os
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from membership_client.types import CloseReport, Health, LeaveMode

BELONGS_TO_PARENT = "This member belongs to the parent process."

_ENTRANCES = frozenset({"__enter__", "__aenter__", "__iter__", "__next__", "__aiter__", "__anext__"})

T = TypeVar("T")

Error = Callable[[Any], Exception]
"""Makes the error that the methods of an object raise in a forked child."""

_watched: weakref.WeakKeyDictionary[Any, Error] = weakref.WeakKeyDictionary()


def child_close() -> CloseReport:
    """The answer of close() in a forked child."""
    return CloseReport(clean=True, reason="forked child: the member belongs to the parent process")


def child_health() -> Health:
    """The answer of health() in a forked child."""
    return Health(live=False, ready=False, why="forked")


def child_explanation() -> str:
    """The answer of explain() in a forked child."""
    return f"This process is a forked child. {BELONGS_TO_PARENT}\nDo: make a new member in this process."


def refuse_in_forked_children(thing: object, error: Error) -> None:
    """In children forked from now on all public methods and properties of `thing` raise `error(thing)`.

    Exceptions are close(), which returns at once, health() and explain(). None of the object's own code runs there: the threads
    that would answer are the parent's, and a lock that one of them held at the fork is never released in the child.
    """
    import ctypes  # noqa: F401, PLC0415 - takes long, and must be loaded before a fork

    _watched[thing] = error


def _in_forked_child() -> None:
    if not _watched:
        return
    import ctypes  # noqa: PLC0415 - see above

    for thing, error in tuple(_watched.items()):
        # Never freed in the child: librdkafka would wait for its threads, or abort the child when its interpreter ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        thing.__class__ = _refusing(type(thing), error)
    _watched.clear()


def _refusing(kind: type, error: Error) -> type:
    """A subclass of which all public methods and properties raise."""

    def refuse(self: object, *_: object, **__: object) -> object:
        raise error(self)

    public = (name for name in dir(kind) if not name.startswith("_") or name in _ENTRANCES)
    names: dict[str, object] = {name: _in_place_of(inspect.getattr_static(kind, name), refuse) for name in public}
    is_async = inspect.iscoroutinefunction(inspect.getattr_static(kind, "close"))
    names |= _ASYNC_ENDS if is_async else _ENDS
    names |= {"health": lambda _: child_health(), "explain": lambda _: child_explanation()}
    names |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (kind,), names)


def _in_place_of(found: object, refuse: Callable[..., object]) -> object:
    return property(refuse) if isinstance(found, property) else refuse


def _close(*_: object, **__: object) -> CloseReport:
    return child_close()


def _exit(*_: object) -> None:
    """The end of a `with` that was entered before the fork."""


async def _aclose(*_: object, **__: object) -> CloseReport:
    return child_close()


async def _aexit(*_: object) -> None:
    """Like `_exit`."""


_ENDS = {"close": _close, "__exit__": _exit}
_ASYNC_ENDS = {"close": _aclose, "__aexit__": _aexit}

os.register_at_fork(after_in_child=_in_forked_child)


# --- the end of the interpreter --------------------------------------------------------------------------------------


_EXIT_TIMEOUT_S = 3.0
"""How long the end of a process waits for members that it did not close to leave their groups."""


class _Closable(Protocol):
    def _begin_close(self, leave: LeaveMode, reason: str | None, timeout_s: float | None) -> None: ...
    def close(
        self, leave: LeaveMode = ..., *, reason: str | None = ..., timeout_s: float | None = ...
    ) -> CloseReport: ...
    def _after_fork(self) -> None: ...


_members: weakref.WeakSet[_Closable] = weakref.WeakSet()


def register(member: _Closable) -> None:
    """From now on the member is closed in forked children, and the end of the interpreter closes it here."""
    _members.add(member)


def registered() -> list[Any]:
    """The members of this process that no garbage collection has taken yet. Any thread."""
    return present(_members)


def present(things: weakref.WeakSet[T]) -> list[T]:
    """The objects that still exist. May be called on any thread, while others add and remove."""
    while True:
        try:
            return list(things)
        except RuntimeError:  # Another thread has added or removed one meanwhile.
            continue


def _abandon_in_forked_child() -> None:
    for member in tuple(_members):
        member._after_fork()  # noqa: SLF001 - not for users, and this module is its only caller
    _members.clear()


def _at_exit() -> None:
    """Close all members at the same time, so that none delays the others."""
    members, reason = tuple(_members), "the interpreter ended"
    for member in members:
        member._begin_close(LeaveMode.DEFAULT, reason, _EXIT_TIMEOUT_S)  # noqa: SLF001 - as above
    for member in members:
        member.close(reason=reason, timeout_s=_EXIT_TIMEOUT_S)


os.register_at_fork(after_in_child=_abandon_in_forked_child)
atexit.register(_at_exit)
