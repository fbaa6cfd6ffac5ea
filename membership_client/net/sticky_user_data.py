"""User data in the subscriptions of the sticky assignors: the partitions that a member held, and since when.

Under `sticky`, which is eager, members own nothing when they join: what they held is only here. Version 0 is a list of topics
with their partitions, version 1 the same and the generation; only the length tells which version it is.
Under `cooperative-sticky` Java writes the generation alone and librdkafka the same as under `sticky`, from before
subscriptions had a field for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16, i32

from membership_client.net.reader import Undecodable, read
from membership_client.subscriptions import NO_GENERATION
from membership_client.types import TopicPartition

_GENERATION = struct.Struct(">i")

Held = tuple[frozenset[TopicPartition], int]
"""Partitions, and the generation in which they were assigned."""

_NOTHING: Held = (frozenset(), NO_GENERATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    topic: str = field(metadata={"kafka_type": "string"})
    partitions: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Previous:
    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    topics: tuple[_Topic, ...]


def encode_held(topics: Iterable[tuple[str, Iterable[int]]], generation: int) -> bytes:
    """Version 1, which Java reads under `sticky`."""
    parts = [_topic(topic, tuple(numbers)) for topic, numbers in topics]
    return struct.pack(">i", len(parts)) + b"".join(parts) + _GENERATION.pack(generation)


def _topic(topic: str, numbers: tuple[int, ...]) -> bytes:
    name = topic.encode()
    return struct.pack(f">h{len(name)}si{len(numbers)}i", len(name), name, len(numbers), *numbers)


def decode_held(data: bytes | None) -> Held:
    """Either version; bytes after it belong to later versions. Data that cannot be read means that the member held nothing, as in Java."""
    told = data or b""
    try:
        previous, end = read(_Previous, told)
    except Undecodable:
        return _NOTHING
    held = partitions_of(previous.topics)
    rest = told[end : end + _GENERATION.size]
    return held, _GENERATION.unpack(rest)[0] if len(rest) == _GENERATION.size else NO_GENERATION


def decode_generation(data: bytes | None) -> int:
    """What a member says under `cooperative-sticky` whose subscription has no field for it, be it Java's or librdkafka's."""
    if data is not None and len(data) == _GENERATION.size:
        return int(_GENERATION.unpack(data)[0])
    return decode_held(data)[1]


def partitions_of(topics: Iterable[Any]) -> frozenset[TopicPartition]:
    """Of what a peer sent by topic. A negative number is no partition."""
    return frozenset(
        TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions if number >= 0
    )
