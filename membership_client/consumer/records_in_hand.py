"""Which records is a thread working on that should poll?"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType

from confluent_kafka import Message

from membership_client.runtime.busy_thread import frame_of

_DEPTH = 40


def in_hand(thread: int | None) -> list[str]:
    """Of a running thread: the records that its functions have, by where they are from; what is in them is not shown."""
    return list(dict.fromkeys(_records(frame_of(thread))))


def _records(frame: FrameType | None) -> Iterator[str]:
    for _ in range(_DEPTH):
        if frame is None:
            return
        for name, value in tuple(frame.f_locals.items()):
            if isinstance(value, Message) and value.error() is None:
                yield f"{value.topic()}-{value.partition()}@{value.offset()} ({name} in {frame.f_code.co_name})"
        frame = frame.f_back
