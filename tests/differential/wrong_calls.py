"""Calls whose arguments are wrong: what is raised is compared, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, Message, TopicPartition

WrongCall = Callable[[Any, str], object]
"""Takes the consumer, and the name of a topic that exists."""


def _at(topic: str) -> TopicPartition:
    return TopicPartition(topic, 0, 1)


def _error_of(topic: str) -> Message:
    return Message(topic=topic, partition=0, offset=0, error=KafkaError(KafkaError._PARTITION_EOF, "the end"))


WRONG_CALLS: Mapping[str, WrongCall] = MappingProxyType(
    {
        "poll text": lambda c, _: c.poll("1"),
        "consume text": lambda c, _: c.consume("1"),
        "consume negative": lambda c, _: c.consume(-1),
        "consume too many": lambda c, _: c.consume(1_000_001),
        "consume timeout text": lambda c, _: c.consume(1, "1"),
        "commit both": lambda c, t: c.commit(message=Message(topic=t, partition=0, offset=0), offsets=[_at(t)]),
        "commit text": lambda c, _: c.commit(message="text", asynchronous=False),
        "commit number": lambda c, _: c.commit(offsets=5, asynchronous=False),
        "commit items": lambda c, _: c.commit(offsets=["text"], asynchronous=False),
        "commit empty list": lambda c, _: c.commit(offsets=[], asynchronous=False),
        "commit message without offset": lambda c, t: c.commit(Message(topic=t, partition=0), asynchronous=False),
        "commit message with error": lambda c, t: c.commit(_error_of(t), asynchronous=False),
        "commit message with error later": lambda c, t: c.commit(_error_of(t)),
        "commit unknown keyword": lambda c, _: c.commit(wrong=1),
        "store both": lambda c, t: c.store_offsets(message=Message(topic=t, partition=0, offset=0), offsets=[_at(t)]),
        "store neither": lambda c, _: c.store_offsets(),
        "store message with error": lambda c, t: c.store_offsets(_error_of(t)),
        "store text": lambda c, _: c.store_offsets(message="text"),
        "store items": lambda c, _: c.store_offsets(offsets=["text"]),
        "seek text": lambda c, _: c.seek("text"),
        "seek nothing": lambda c, _: c.seek(),
        "pause text": lambda c, _: c.pause("text"),
        "pause items": lambda c, _: c.pause(["text"]),
        "resume text": lambda c, _: c.resume("text"),
        "assign text": lambda c, _: c.assign("text"),
        "assign items": lambda c, _: c.assign(["text"]),
        "incremental_assign text": lambda c, _: c.incremental_assign("text"),
        "incremental_assign items": lambda c, _: c.incremental_assign(["text"]),
        "incremental_unassign text": lambda c, _: c.incremental_unassign("text"),
        "position text": lambda c, _: c.position("text"),
        "position items": lambda c, _: c.position(["text"]),
        "committed text": lambda c, _: c.committed("text"),
        "committed items": lambda c, _: c.committed(["text"]),
        "subscribe text": lambda c, t: c.subscribe(t),
        "subscribe none": lambda c, _: c.subscribe(None),
        "subscribe items": lambda c, _: c.subscribe([5]),
        "subscribe callback": lambda c, t: c.subscribe([t], on_assign="text"),
        "subscribe nothing": lambda c, _: c.subscribe([]),
        "subscribe bad pattern": lambda c, _: c.subscribe(["^[a"]),
        "watermarks text": lambda c, _: c.get_watermark_offsets("text"),
        "offsets_for_times text": lambda c, _: c.offsets_for_times("text"),
        "offsets_for_times nothing": lambda c, _: c.offsets_for_times(),
        "poll unknown keyword": lambda c, _: c.poll(wrong=1),
    }
)
