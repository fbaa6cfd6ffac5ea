"""Partitions as people write them: `orders[0-3,7]`."""

from __future__ import annotations

from collections.abc import Iterable

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
    """What `ranges` wrote."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def shares(partitions: Iterable[TopicPartition]) -> list[str]:
    """A topic each: `bills[0]`, `orders[0-3,7]`."""
    topics: dict[str, set[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, set()).add(number)
    return [f"{topic}[{ranges(topics[topic])}]" for topic in sorted(topics)]
