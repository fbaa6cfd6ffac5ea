"""Getting the polling thread's attention, also while it is blocked inside librdkafka's poll().

librdkafka reports the outcome of every commit from inside poll(), on the polling thread, ahead of any record that waits.
A commit that has no offset is refused by its own thread, without a broker, and the report of it is our knock. Thus what
must happen on the polling thread happens there within a millisecond, and nothing is paid for it per record.
"""

from __future__ import annotations

import contextvars

import confluent_kafka
from confluent_kafka import KafkaError, TopicPartition, cimpl

_NOBODY = "(knock)"

_GATE: contextvars.ContextVar[int] | None = getattr(cimpl, "_reentry_identity_var", None)
"""Since 2.16 a consumer lets one thread in at a time. This is how its own asyncio face passes for the one inside."""


def knock(raw: confluent_kafka.Consumer, polling_thread: int) -> None:
    """Any thread. If nobody polls, the next poll answers; if another thread is inside than we think, this waits for it."""
    contextvars.copy_context().run(_knock, raw, polling_thread)


def _knock(raw: confluent_kafka.Consumer, polling_thread: int) -> None:
    pass_for(polling_thread)
    raw.commit(offsets=[TopicPartition(_NOBODY, 0, confluent_kafka.OFFSET_INVALID)], asynchronous=True)


def pass_for(polling_thread: int) -> None:
    """From now on, in this context, this thread may use the consumer although that other one is inside poll()."""
    if _GATE is not None:
        _GATE.set(polling_thread)


def is_knock(error: KafkaError | None, partitions: list[TopicPartition]) -> bool:
    """Is this report of a commit one of ours?"""
    return error is not None and [partition.topic for partition in partitions] == [_NOBODY]
