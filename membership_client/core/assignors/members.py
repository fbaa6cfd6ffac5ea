"""The members of a group in the order that all assignors share, and who of them wants which topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, repeat

from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

Plan = dict[str, list[TopicPartition]]

# As TopicPartition(topic, number), in a third of the time: large groups have tens of thousands.
_new_partition: Callable[[tuple[str, int]], TopicPartition] = partial(tuple.__new__, TopicPartition)


def in_order(subscriptions: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Static members by instance id, then the others by member id. Assignors know members by their place in this list."""
    return sorted(subscriptions, key=lambda subscription: subscription.rank)


def partitions_of(topic: str, layout: TopicLayout) -> tuple[TopicPartition, ...]:
    """All of them, in order."""
    count = layout.partitions
    return _known_partitions(topic, count) if count <= _MOST_KEPT else _new_partitions(topic, count)


def _new_partitions(topic: str, count: int) -> tuple[TopicPartition, ...]:
    return tuple(map(_new_partition, zip(repeat(topic), range(count), strict=False)))


_MOST_KEPT = 256
_known_partitions = lru_cache(maxsize=1024)(_new_partitions)
"""A leader plans again in every rebalance, mostly for the same topics.

Making 50,000 partitions takes 10 ms, and has Python's collector look at all objects of the process, which takes longer.
"""


def subscribers(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> dict[str, Sequence[int]]:
    """Who wants each topic that exists and is wanted at all, as places in ascending order.

    Members with equal subscriptions are looked at once, and topics with the same subscribers share one list: in most
    groups there is one subscription, however many members.
    """
    circles = _circles(members)
    existing = frozenset(topic for topic, layout in topics.items() if layout.partitions)
    wanted: dict[str, list[int]] = {}
    for number, circle in enumerate(circles):
        for topic in circle & existing:
            wanted.setdefault(topic, []).append(number)
    places = list(circles.values())
    joined: dict[tuple[int, ...], Sequence[int]] = {}
    found: dict[str, Sequence[int]] = {}
    for topic, numbers in wanted.items():
        key = tuple(numbers)
        if key not in joined:
            joined[key] = sorted(chain.from_iterable(places[number] for number in numbers))
        found[topic] = joined[key]
    return found


def _circles(members: Sequence[MemberSubscription]) -> Mapping[frozenset[str], list[int]]:
    """The places of members that want exactly these topics."""
    circles: dict[frozenset[str], list[int]] = {}
    for place, member in enumerate(members):
        circles.setdefault(member.topics, []).append(place)
    return circles
