"""The stack of the thread that uses up a time limit: for the log, the trace and the listener."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from types import FrameType

from membership_client.core.events import Budget, Warn
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetWarning:
    """Half of a time limit is used up. It is given once per callback, close or pause between polls.

    For the poll interval, which is minutes long and costs the membership, there is another warning at four fifths: two
    equal stacks mean that the thread is stuck, two different ones that it is only slow.
    """

    budget: Budget
    spent_s: float
    limit_s: float
    thread: str | None
    """The name of the thread that is busy; None if it is not known."""
    stack: tuple[str, ...]
    """The functions that it is in, innermost first: `function (file.py:12)`."""

    def __str__(self) -> str:
        spent = f"{self.spent_s:.1f} s of the {round(self.limit_s, 1 if self.limit_s >= 1 else 3):g} s for {self.budget.value} are gone"
        return f"{spent}; thread {self.thread} is at {' < '.join(self.stack)}" if self.stack else spent


@dataclass(frozen=True, slots=True)
class BusyThread:
    """A thread and what it is doing."""

    name: str | None
    """None if it is not known."""
    stack: tuple[str, ...]
    """The functions that it is in, as in `BudgetWarning`."""


def busy_thread(thread: int | None) -> BusyThread:
    """What the thread is doing at this moment."""
    frame = frame_of(thread)
    return BusyThread(_name_of(thread), _places(frame)) if frame else BusyThread(None, ())


def warning_of(effect: Warn, thread: int | None) -> BudgetWarning:
    """The warning, with what that thread is doing at this moment."""
    busy = busy_thread(thread)
    return BudgetWarning(
        budget=effect.budget,
        spent_s=effect.spent_s,
        limit_s=effect.limit_s,
        thread=busy.name,
        stack=busy.stack,
    )


def place_text(thread: int | None) -> str:
    """`; thread main is at work (shop.py:7) < main (shop.py:1)`, to be put after a clause; empty for the calling thread."""
    busy = busy_thread(thread) if thread != threading.get_ident() else None
    return f"; thread {busy.name} is at {' < '.join(busy.stack[:_MOST_PLACES])}" if busy and busy.stack else ""


_MOST_PLACES = 4


def frame_of(thread: int | None) -> FrameType | None:
    """The innermost frame of a running thread."""
    if thread is None:
        return None
    # `sys._current_frames` allocates while it holds a lock that starting and ending threads need. A garbage collection in
    # there that lets another thread run stops the process for ever (CPython gh-106883, up to 3.11.7 and 3.12.1).
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)  # noqa: SLF001 - documented all the same
    finally:
        if was_enabled:
            gc.enable()


def _name_of(thread: int | None) -> str:
    return next((t.name for t in threading.enumerate() if t.ident == thread), str(thread))


_OURS = __file__.removesuffix("runtime/busy_thread.py")


def is_ours(place: traceback.FrameSummary) -> bool:
    """Is that a function of this package? Places are shown to people who look for a function of their own."""
    return place.filename.startswith(_OURS)


def _places(frame: FrameType) -> tuple[str, ...]:
    stack = traceback.extract_stack(frame, limit=40)
    found = reversed([place for place in stack if not is_ours(place)] or stack)
    return tuple(f"{place.name} ({place.filename.rpartition('/')[2]}:{place.lineno})" for place in found)
