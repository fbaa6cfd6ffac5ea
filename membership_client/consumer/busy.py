"""What is a thread doing that should poll? Its stack, and the records that its functions have in hand."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from types import FrameType

from confluent_kafka import Message

_DEPTH = 40


def describe(thread: int) -> str:
    """Of a running thread, for a log. Records are named by where they are from; what is in them is never shown."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return "The thread that polled has ended."
    stack = "".join(traceback.format_stack(frame)).rstrip()
    records = ", ".join(dict.fromkeys(_records(frame))) or "none that can be seen"
    return f"Records in hand: {records}. The thread that polled is here:\n{stack}"


def _records(frame: FrameType) -> Iterator[str]:
    current: FrameType | None = frame
    for _ in range(_DEPTH):
        if current is None:
            return
        for name, value in tuple(current.f_locals.items()):
            if isinstance(value, Message):
                yield f"{value.topic()}[{value.partition()}]@{value.offset()} ({name} in {current.f_code.co_name})"
        current = current.f_back
