"""Subscriptions and assignments as classic members send them to each other, through brokers that do not read them.

Both begin with a version. Later versions only add fields at the end, so one that is newer than ours is read as ours.
That is the agreement under which Java and librdkafka read them too, and why writing the newest one is enough.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar

from kio.static.constants import EntityType
from kio.static.primitive import i16, i32

from membership_client.net.reader import Undecodable, read
from membership_client.net.writer import write
from membership_client.subscriptions import NO_GENERATION, MemberSubscription
from membership_client.types import TopicPartition

NEWEST = 3
_VERSION = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_NO_TOPICS = bytes(4)
_REMEMBERED = 16
_STICKY, _COOPERATIVE = "sticky", "cooperative-sticky"

# kio's modules; their classes have no common type over the versions, hence Any.
_SUBSCRIPTION: list[Any] = [
    import_module(f"kio.schema.consumer_protocol_subscription.v{version}.data") for version in range(NEWEST + 1)
]
_ASSIGNMENT: Any = import_module(f"kio.schema.consumer_protocol_assignment.v{NEWEST}.data")

# --- subscriptions ---------------------------------------------------------------------------------------------------


def encode_subscription(subscription: MemberSubscription, assignor: str) -> bytes:
    """The subscription of a member for that assignor. Under `sticky` the user data has what it held, as in Java."""
    held = list(_by_topic(subscription.owned))
    wire = _SUBSCRIPTION[NEWEST]
    message = wire.ConsumerProtocolSubscription(
        topics=tuple(sorted(subscription.topics)),
        user_data=_user_data(assignor, held, subscription.generation),
        owned_partitions=() if assignor == _STICKY else _topics(held, wire),
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _with_version(message)


def _user_data(assignor: str, held: Iterable[tuple[str, tuple[int, ...]]], generation: int) -> bytes | None:
    if assignor == _STICKY and generation != NO_GENERATION:
        return encode_held(held, generation)
    return _INT32.pack(generation) if assignor == _COOPERATIVE else None


class SubscriptionReader:
    """Reads the subscriptions of one group's members for one assignor.

    Members that want the same topics, in the same bytes, share one set of them: a leader of a thousand members then
    reads a thousand names, not a million, and compares subscriptions by identity.
    """

    def __init__(self, assignor: str) -> None:
        self._assignor = assignor
        self._known: deque[tuple[bytes, frozenset[str]]] = deque(maxlen=_REMEMBERED)

    def read(self, member_id: str, instance_id: str | None, data: bytes) -> MemberSubscription:
        """The subscription of that member, whatever its version.

        Raises:
            Undecodable: the bytes are no subscription. Nothing else is raised, whatever they are.
        """
        version, rest = _split_version(data)
        topics, message = self._read(_SUBSCRIPTION[version].ConsumerProtocolSubscription, rest)
        owned, generation = self._held(message)
        return MemberSubscription(
            member_id=member_id,
            instance_id=instance_id,
            topics=topics,
            owned=owned,
            generation=max(generation, NO_GENERATION),
            rack=getattr(message, "rack_id", None) or None,
        )

    def _read(self, entity: Any, data: bytes) -> tuple[frozenset[str], Any]:
        for encoded, topics in self._known:
            if data.startswith(encoded):
                # The same message, with an empty list of topics in front.
                message, _ = read(entity, _NO_TOPICS + data[len(encoded) :])
                return topics, message
        message, _ = read(entity, data)
        topics = frozenset(message.topics)
        self._known.append((_encoded(message.topics), topics))
        return topics, message

    def _held(self, message: Any) -> tuple[frozenset[TopicPartition], int]:
        """Partitions that it owns or held, and their generation, from the field where that assignor's members write them."""
        if self._assignor == _STICKY:
            return decode_held(message.user_data)
        generation = getattr(message, "generation_id", NO_GENERATION)
        if generation < 0 and self._assignor == _COOPERATIVE:
            generation = decode_generation(message.user_data)
        return partitions_of(getattr(message, "owned_partitions", ())), generation


def _encoded(topics: Iterable[str]) -> bytes:
    names = [topic.encode() for topic in topics]
    return _INT32.pack(len(names)) + b"".join(_VERSION.pack(len(name)) + name for name in names)


# --- assignments -----------------------------------------------------------------------------------------------------


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """The assignment of one member, from partitions in any order."""
    topics = _topics(_by_topic(partitions), _ASSIGNMENT)
    return _with_version(_ASSIGNMENT.ConsumerProtocolAssignment(assigned_partitions=topics))


def decode_assignment(data: bytes) -> frozenset[TopicPartition]:
    """The assignment that the leader wrote, whatever its version and user data; none if the leader sent no bytes.

    It may have topics to which this member is not subscribed.

    Raises:
        Undecodable: the bytes are no assignment. Nothing else is raised, whatever they are.
    """
    return partitions_of(_read_assignment(data).assigned_partitions) if data else frozenset()


def has_assignor_data(data: bytes) -> bool:
    """True if the leader's assignor wrote data of its own into the assignment. Raises Undecodable."""
    return bool(data and _read_assignment(data).user_data)


def _read_assignment(data: bytes) -> Any:
    _, rest = _split_version(data)
    # All versions are the same so far.
    message, _ = read(_ASSIGNMENT.ConsumerProtocolAssignment, rest)
    return message


# --- both ------------------------------------------------------------------------------------------------------------


def _split_version(data: bytes) -> tuple[int, bytes]:
    if len(data) < _VERSION.size:
        raise Undecodable("it ends before its version does")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise Undecodable(f"it says that its version is {version}")
    return min(version, NEWEST), data[_VERSION.size :]


def _with_version(message: Any) -> bytes:
    return _VERSION.pack(NEWEST) + write(message)


def _by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for topic, group in groupby(sorted(partitions), key=itemgetter(0)):
        yield topic, tuple(number for _, number in group)


def _topics(topics: Iterable[tuple[str, tuple[int, ...]]], wire: Any) -> tuple[Any, ...]:
    return tuple(wire.TopicPartition(topic=topic, partitions=numbers) for topic, numbers in topics)


# --- user data of the sticky assignors -------------------------------------------------------------------------------

# The partitions that a member held, and since when. Under `sticky`, which is eager, members own nothing when they join, so only
# the user data says what they held. Version 0 is a list of topics with their partitions, version 1 the same and the generation;
# only the length tells which version it is. Under `cooperative-sticky` Java writes the generation alone, and librdkafka the
# same as under `sticky`, from before subscriptions had a field for it.

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
    """The generation of a member under `cooperative-sticky` whose subscription has no field for it, from Java or librdkafka."""
    if data is not None and len(data) == _GENERATION.size:
        return int(_GENERATION.unpack(data)[0])
    return decode_held(data)[1]


def partitions_of(topics: Iterable[Any]) -> frozenset[TopicPartition]:
    """The partitions that a peer sent, without negative numbers, which are no partitions."""
    return frozenset(
        TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions if number >= 0
    )
