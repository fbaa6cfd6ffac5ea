"""Partitions as people write them: `orders[0-3,7]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from membership_client.types import TopicPartition


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
    """What `ranges` wrote. ValueError if it did not; see `count_of` for text that others chose."""
    for first, last in _bounds(text):
        yield from range(first, last + 1)


def count_of(text: str) -> int:
    """How many numbers that is, without making them: `0-999999999` is eleven letters. ValueError as above."""
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
    """A topic each: `bills[0]`, `orders[0-3,7]`."""
    topics: dict[str, set[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, set()).add(number)
    return [f"{topic}[{ranges(topics[topic])}]" for topic in sorted(topics)]


def named(partitions: Iterable[TopicPartition]) -> str:
    """All topics in one text: `bills[0] orders[0-3,7]`; `nothing` if there are no partitions."""
    return " ".join(shares(partitions)) or "nothing"
