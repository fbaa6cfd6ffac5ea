"""Kafka's uniform assignor: balance first, then as few moves as possible.

On a real broker the order of keys in Java's hash tables decides which member gets one partition more. `hash_order` has the
same order, so that a group gets the same assignment from the fake and from the broker. Only keys that collide in one bucket
may come in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions

Key = TypeVar("Key")
Owned = dict[UUID, set[int]]

_MOST_ROUNDS = 16
_SIGN_BITS = 1 << 127 | 1 << 63
"""Sorts topic ids as Java does, which compares the two halves of an id as signed numbers."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member, as the assignor knows it."""

    topics: frozenset[UUID]
    current: Partitions
    instance_id: str | None = None


def uniform(members: Mapping[str, Subscriber], counts: Mapping[UUID, int], *, alike: bool) -> dict[str, Partitions]:
    """Targets for all members. With `alike`, all have the same subscription, for which Kafka has a simpler rule."""
    ordered = {member_id: members[member_id] for member_id in hash_order(members, hash_of_text)}
    shares = _shares_if_alike(ordered, counts) if alike else _shares_if_different(ordered, counts)
    return {member_id: Partitions.of(share) if share else NOTHING for member_id, share in shares.items()}


# --- all subscribe to the same ---------------------------------------------------------------------------------------


def _shares_if_alike(members: Mapping[str, Subscriber], counts: Mapping[UUID, int]) -> dict[str, Owned]:
    topics = next(iter(members.values())).topics if members else frozenset()
    total = sum(counts[topic] for topic in topics)
    least, extra = divmod(total, len(members)) if members else (0, 0)
    free = _never_assigned(members, topics, counts)
    shares: dict[str, Owned] = {}
    room: dict[str, int] = {}
    for left, (member_id, member) in zip(range(len(members), 0, -1), members.items(), strict=True):
        quota = least + (1 if extra > 0 else 0)
        shares[member_id], surplus, spare = _keep(member, topics, quota)
        free += surplus
        takes_extra = extra > 0 and (spare == 0 or left <= extra)
        room[member_id] = spare if takes_extra or extra == 0 else spare - 1
        extra -= takes_extra
    _hand_out(free, shares, room)
    return shares


def _never_assigned(
    members: Mapping[str, Subscriber], topics: frozenset[UUID], counts: Mapping[UUID, int]
) -> list[tuple[UUID, int]]:
    taken = {partition for member in members.values() for partition in member.current}
    everything = ((topic, number) for topic in hash_order(topics, hash_of_id) for number in range(counts[topic]))
    return [partition for partition in everything if partition not in taken]


def _keep(member: Subscriber, topics: frozenset[UUID], quota: int) -> tuple[Owned, list[tuple[UUID, int]], int]:
    """The partitions that a member keeps, those above its quota, and how many more it may get."""
    kept: Owned = {}
    surplus: list[tuple[UUID, int]] = []
    for topic in hash_order(member.current.topics & topics, hash_of_id):
        for number in hash_order(sorted(member.current.by_topic[topic]), int):
            if quota > 0:
                kept.setdefault(topic, set()).add(number)
                quota -= 1
            else:
                surplus.append((topic, number))
    return kept, surplus, quota


def _hand_out(free: list[tuple[UUID, int]], shares: dict[str, Owned], room: Mapping[str, int]) -> None:
    partitions = iter(free)
    for member_id, places in room.items():
        # The range is the first argument: otherwise zip would take a partition before it sees that the range has ended.
        for _, (topic, number) in zip(range(places), partitions, strict=False):
            shares[member_id].setdefault(topic, set()).add(number)


# --- subscriptions differ --------------------------------------------------------------------------------------------


def _shares_if_different(members: Mapping[str, Subscriber], counts: Mapping[UUID, int]) -> dict[str, Owned]:
    shares: dict[str, Owned] = {
        member_id: {topic: set(numbers) for topic, numbers in member.current.by_topic.items() if topic in member.topics}
        for member_id, member in members.items()
    }
    subscribers = {
        topic: [member_id for member_id, member in members.items() if topic in member.topics]
        for topic in frozenset[UUID]().union(*(member.topics for member in members.values()))
    }
    topics = sorted(
        subscribers, key=lambda t: (-counts[t] / len(subscribers[t]), len(subscribers[t]), t.int ^ _SIGN_BITS)
    )
    for topic in topics:
        _assign_rest(topic, counts[topic], subscribers[topic], shares)
    for _ in range(_MOST_ROUNDS):
        if not sum(_balance(topic, subscribers[topic], shares) for topic in topics):
            break
    return shares


def _assign_rest(topic: UUID, count: int, subscribers: list[str], shares: dict[str, Owned]) -> None:
    ranked = sorted(subscribers, key=lambda member_id: _load(shares[member_id]))
    taken = {number for member_id in subscribers for number in shares[member_id].get(topic, ())}
    for number in range(count):
        if number not in taken:
            poorest = min(ranked, key=lambda member_id: _load(shares[member_id]))
            shares[poorest].setdefault(topic, set()).add(number)


def _balance(topic: UUID, subscribers: list[str], shares: dict[str, Owned]) -> bool:
    """Move partitions of one topic from the member with most to the one with fewest while that helps. True if one moved."""
    ranked = sorted(subscribers, key=lambda member_id: _load(shares[member_id]))
    moved = False
    while givers := [member_id for member_id in reversed(ranked) if shares[member_id].get(topic)]:
        richest = max(givers, key=lambda member_id: _load(shares[member_id]))
        poorest = min(ranked, key=lambda member_id: _load(shares[member_id]))
        if _load(shares[richest]) - _load(shares[poorest]) <= 1:
            break
        number = max(shares[richest][topic])
        shares[richest][topic].discard(number)
        shares[poorest].setdefault(topic, set()).add(number)
        moved = True
    return moved


def _load(share: Owned) -> int:
    return sum(map(len, share.values()))


# --- Java's order ----------------------------------------------------------------------------------------------------


def hash_order(keys: Iterable[Key], hash_of: Callable[[Key], int]) -> list[Key]:
    """These keys in the order in which a Java HashMap iterates over them."""
    listed = list(keys)
    size = 16
    while len(listed) > size * 3 // 4:
        size *= 2

    def bucket(key: Key) -> int:
        spread = hash_of(key) & 0xFFFFFFFF
        return (spread ^ (spread >> 16)) & (size - 1)

    return sorted(listed, key=bucket)


def hash_of_text(text: str) -> int:
    value, units = 0, text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (value * 31 + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return value


def hash_of_id(topic_id: UUID) -> int:
    both = (topic_id.int >> 64) ^ (topic_id.int & (2**64 - 1))
    return ((both >> 32) ^ both) & 0xFFFFFFFF
