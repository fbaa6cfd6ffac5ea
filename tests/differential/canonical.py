"""What a call returned or raised, without what legitimately differs between two runs: names, texts, and the order of sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import ClusterMetadata

_KINDS = (KafkaException, RuntimeError, ValueError, TypeError, AttributeError, OverflowError)
"""What programs catch."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception. `kinds` are the types by which it can be caught; an exception of ours may have more than theirs."""

    kinds: frozenset[str]
    code: str | None = None

    def __str__(self) -> str:
        return f"raises {'/'.join(sorted(self.kinds))}{f' {self.code}' if self.code else ''}"


def raised(error: BaseException) -> Raised:
    kinds = frozenset(kind.__name__ for kind in _KINDS if isinstance(error, kind)) or frozenset({type(error).__name__})
    about = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return Raised(kinds, about.name() if isinstance(about, KafkaError) else None)


def agrees(ours: object, theirs: object) -> bool:
    """Does a program that was written for theirs notice no difference?"""
    if isinstance(ours, Raised) and isinstance(theirs, Raised):
        return theirs.kinds <= ours.kinds and theirs.code in {None, ours.code}
    return ours == theirs


@dataclass(frozen=True, slots=True)
class Said:
    """A text of the player itself, which is compared as it is."""

    word: str

    def __str__(self) -> str:
        return self.word


def returned(value: object, names: Mapping[str, int]) -> object:
    """`names` are the topics' numbers."""
    match value:
        case Message():
            found = _message(value, names)
        case TopicPartition():
            found = _place(value, names)
        case ClusterMetadata():
            found = sorted(
                (names[name], len(topic.partitions)) for name, topic in value.topics.items() if name in names
            )
        case list() | tuple():
            found = tuple(returned(item, names) for item in value)
        case None | int() | float() | Said():
            found = value
        case _:
            found = type(value).__name__ if value else f"empty {type(value).__name__}"
    return found


def _message(message: Message, names: Mapping[str, int]) -> object:
    error = message.error()
    if error is not None:
        return ("event", error.name())
    return ("record", names[message.topic() or ""], message.partition(), message.offset())


def _place(place: TopicPartition, names: Mapping[str, int]) -> object:
    error = None if place.error is None else place.error.name()
    return (names.get(place.topic, -1), place.partition, place.offset, place.metadata, error)
