"""A set of partitions, grouped by topic id.

Requests and answers have them in these groups, too. Two assignments of 50,000 partitions of which one moved are compared
topic by topic, in C.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import compress
from operator import is_not
from types import MappingProxyType
from uuid import UUID

from membership_client.types import TopicPartition
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class Partitions:
    """An immutable set of partitions. Topics without partitions are never kept, so equal values have equal content."""

    by_topic: Mapping[UUID, frozenset[int]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, topics: Mapping[UUID, Iterable[int]]) -> Partitions:
        """From what a peer sent; duplicates and negative numbers are dropped."""
        return cls({topic: held for topic, numbers in topics.items() if (held := _of_peer(tuple(numbers)))})

    def __bool__(self) -> bool:
        return bool(self.by_topic)

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))

    def __iter__(self) -> Iterator[tuple[UUID, int]]:
        return ((topic, number) for topic, numbers in self.by_topic.items() for number in numbers)

    def __sub__(self, other: Partitions) -> Partitions:
        theirs = other.by_topic
        # A set from which nothing goes stays the same object; `numbers - frozenset()` would be a copy.
        rest = ((t, numbers - theirs[t] if t in theirs else numbers) for t, numbers in self._unlike(theirs))
        return Partitions({topic: numbers for topic, numbers in rest if numbers})

    def _unlike(self, theirs: Mapping[UUID, frozenset[int]]) -> Iterable[tuple[UUID, frozenset[int]]]:
        """The topics whose sets are two objects: all that differ, and maybe some that are equal.

        The rules of a member compare all the time, mostly values with the same topics in the same order, which share all
        sets but a few (see `sharing`). Then nothing here runs in Python, nor does `UUID.__hash__`, which is written in it.
        """
        mine = self.by_topic
        in_same_order = list(mine) == list(theirs)
        others = theirs.values() if in_same_order else map(theirs.get, mine)
        return compress(mine.items(), map(is_not, mine.values(), others))

    def __or__(self, other: Partitions) -> Partitions:
        mine, more = self.by_topic, (other - self).by_topic
        return Partitions({**mine, **{t: mine[t] | numbers if t in mine else numbers for t, numbers in more.items()}})

    def without(self, few: Partitions) -> Partitions:
        """Equal to `self - few`, in a time that depends on the number of topics in `few` only."""
        rest = {**self.by_topic}
        for topic in few.by_topic.keys() & rest.keys():
            rest[topic] -= few.by_topic[topic]
            if not rest[topic]:
                del rest[topic]
        return Partitions(rest)

    def sharing(self, other: Partitions) -> Partitions:
        """Equal to this value, with the sets and the order of `other` as far as they are equal, so that comparing the two is quick."""
        theirs = other.by_topic
        changed = {t: numbers for t, numbers in self._unlike(theirs) if theirs.get(t) != numbers}
        return Partitions({**other.of_topics(self.by_topic).by_topic, **changed})

    @property
    def topics(self) -> frozenset[UUID]:
        return frozenset(self.by_topic)

    def of_topics(self, topics: Iterable[UUID]) -> Partitions:
        """The part that belongs to these topics."""
        others = self.topics.difference(topics)
        return Partitions({t: n for t, n in self.by_topic.items() if t not in others}) if others else self

    def of_names(self, topics: Collection[str], names: Mapping[UUID, str]) -> Partitions:
        """The part that belongs to topics with these names."""
        return self.of_topics(topic for topic, name in names.items() if name in topics) if self else self

    def named(self, names: Mapping[UUID, str]) -> Iterator[TopicPartition]:
        """By topic name; topics whose name is unknown are left out."""
        for topic, numbers in self.by_topic.items():
            if (name := names.get(topic)) is not None:
                yield from (TopicPartition(name, number) for number in numbers)


# --- the numbers of one topic ----------------------------------------------------------------------------------------


SHARED_ARRAYS = 2048
SHARED_LENGTH = 256
"""Up to this length, and for this many of them, sets and tuples made of equal numbers are one object.

Most topics of an assignment have the same partitions as in the last one, and many the same as each other. Making 1,000
sets of 50 takes 3 ms, finding them 0.5. The bounds keep what hostile answers can leave in memory below 40 MB.
"""


def in_order(numbers: frozenset[int]) -> tuple[int, ...]:
    """The numbers in the order in which they are sent."""
    return _known_tuple(numbers) if len(numbers) <= SHARED_LENGTH else _tuple_of(numbers)


def _tuple_of(numbers: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(numbers))


def _of_peer(numbers: tuple[int, ...]) -> frozenset[int]:
    """The set of numbers that a peer sent, without negative ones, which are no partitions."""
    return _known_set(numbers) if len(numbers) <= SHARED_LENGTH else _set_of(numbers)


def _set_of(numbers: tuple[int, ...]) -> frozenset[int]:
    return frozenset(number for number in numbers if number >= 0)


_known_tuple = functools.lru_cache(maxsize=SHARED_ARRAYS)(_tuple_of)
_known_set = functools.lru_cache(maxsize=SHARED_ARRAYS)(_set_of)


NOTHING = Partitions()


# --- partitions as text: `orders[0-3,7]` -----------------------------------------------------------------------------


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,7`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def numbers_of(text: str) -> Iterable[int]:
    """The numbers in a text of `ranges`. ValueError for other text; for text from elsewhere call `count_of` first."""
    for first, last in _bounds(text):
        yield from range(first, last + 1)


def count_of(text: str) -> int:
    """How many numbers the text has, without making them: `0-999999999` has only eleven letters. ValueError as above."""
    return sum(last - first + 1 for first, last in _bounds(text))


_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")
_LARGEST = 2**31 - 1


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(",") if text else ():
        found = _RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not first <= last <= _LARGEST:
            raise ValueError(f"{part[:30]!r} is no range of partitions")
        yield first, last


def shares(partitions: Iterable[TopicPartition]) -> list[str]:
    """One text for each topic: `bills[0]`, `orders[0-3,7]`."""
    topics: dict[str, set[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, set()).add(number)
    return [f"{topic}[{ranges(topics[topic])}]" for topic in sorted(topics)]


def named(partitions: Iterable[TopicPartition]) -> str:
    """All topics in one text: `bills[0] orders[0-3,7]`; `nothing` if there are no partitions."""
    return " ".join(shares(partitions)) or "nothing"


_MOST_TOPICS = 8


def first_shares(partitions: Iterable[TopicPartition]) -> str:
    """The shares of the first topics in one text, and how many topics more there are. Empty if there are none."""
    topics = shares(partitions)
    more = f" and {len(topics) - _MOST_TOPICS} more topics" if len(topics) > _MOST_TOPICS else ""
    return f"{' '.join(topics[:_MOST_TOPICS])}{more}"


def counted(count: int, thing: str) -> str:
    """`1 partition`, `2 partitions`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
