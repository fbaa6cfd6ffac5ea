"""What members of a classic group tell each other through the coordinator, which does not look inside.

Subscriptions and assignments carry their own version in front. All versions begin alike, so an unknown one is read as the
newest that we know.
"""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from kio.serial import entity_writer

from membership_client.net.reader import Undecodable, read
from membership_client.subscriptions import NO_GENERATION, MemberSubscription
from membership_client.types import TopicPartition

_NEWEST = 3
_VERSION = struct.Struct(">h")


def write_subscription(
    topics: Iterable[str], owned: Iterable[TopicPartition], generation: int, rack: str | None
) -> bytes:
    wire = _wire("subscription", _NEWEST)
    message = wire.ConsumerProtocolSubscription(
        topics=tuple(sorted(topics)),
        user_data=None,
        owned_partitions=_topics(wire, owned),
        generation_id=generation,
        rack_id=rack,
    )
    return _written(message)


def read_subscription(member_id: str, instance_id: str | None, data: bytes) -> MemberSubscription:
    """Whatever another client wrote: one that cannot be read wants nothing, and costs nobody else their share."""
    try:
        (version,) = _VERSION.unpack_from(data)
        message, _ = read(_wire("subscription", version).ConsumerProtocolSubscription, data, _VERSION.size)
    except (Undecodable, struct.error):
        return MemberSubscription(member_id=member_id, instance_id=instance_id, topics=frozenset())
    return MemberSubscription(
        member_id=member_id,
        instance_id=instance_id,
        topics=frozenset(message.topics),
        owned=_partitions(getattr(message, "owned_partitions", ())),
        generation=getattr(message, "generation_id", NO_GENERATION),
        rack=getattr(message, "rack_id", None),
    )


def write_share(partitions: Iterable[TopicPartition]) -> bytes:
    wire = _wire("assignment", _NEWEST)
    return _written(wire.ConsumerProtocolAssignment(assigned_partitions=_topics(wire, partitions), user_data=None))


def read_share(data: bytes) -> frozenset[TopicPartition]:
    """Nothing where nothing was said, as to a member that the leader did not know. Raises Undecodable."""
    if len(data) < _VERSION.size:
        return frozenset()
    assignment, _ = read(_wire("assignment", _NEWEST).ConsumerProtocolAssignment, data, _VERSION.size)
    return _partitions(assignment.assigned_partitions)


@functools.cache
def _wire(what: str, version: int) -> Any:
    """The module that kio has for it; its classes have no common type over the versions."""
    return import_module(f"kio.schema.consumer_protocol_{what}.v{min(max(version, 0), _NEWEST)}.data")


def _written(message: Any) -> bytes:
    body = io.BytesIO(_VERSION.pack(_NEWEST))
    body.seek(0, io.SEEK_END)
    entity_writer(type(message))(body, message)
    return body.getvalue()


def _topics(wire: Any, partitions: Iterable[TopicPartition]) -> tuple[Any, ...]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return tuple(wire.TopicPartition(topic=topic, partitions=tuple(numbers)) for topic, numbers in topics.items())


def _partitions(topics: Iterable[Any]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(t.topic, number) for t in topics for number in t.partitions if number >= 0)
