"""Sticky shares where members want different topics: keep what is held, hand out what is free, then balance.

At the end no partition could move to a member that wants its topic and has two fewer than its owner. Moves of single
partitions cannot make the shares more even, and Java promises the same.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence

from membership_client.core.assignors.members import (
    FormerOwners,
    GroupRacks,
    earlier_owners,
    partitions_of,
    subscribers,
)
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

_Owners = dict[TopicPartition, int]


def share_generally(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: FormerOwners
) -> list[list[TopicPartition]]:
    """Shares by place. Topics with few subscribers come first, because they have the least choice."""
    wanted = subscribers(members, topics)
    order = sorted(wanted, key=lambda topic: (len(wanted[topic]), topic))
    every = [partition for topic in order for partition in partitions_of(topic, topics[topic])]
    racks = GroupRacks.of(members, topics)
    owners = _kept(every, members, claims, racks)
    free = [partition for partition in every if partition not in owners]
    by_load = _LoadOrder([member.topics for member in members], _loads(owners, len(members)))
    _hand_out(free, owners, by_load, racks)
    if not by_load.is_even:
        balancer = _Balancer(owners, by_load, earlier_owners(members))
        # Partitions that no member held move first, since that costs nothing; if something is revoked anyway, all may move.
        if claims.owner.keys().isdisjoint(free):
            balancer.balance(free)
        balancer.balance(every)
    return _shares(every, owners, len(members))


def _kept(
    every: Iterable[TopicPartition],
    members: Sequence[MemberSubscription],
    claims: FormerOwners,
    racks: GroupRacks | None,
) -> _Owners:
    """Partitions that stay: the owner still wants the topic, and is in one of the partition's racks."""
    kept: _Owners = {}
    for partition in every:
        place = claims.owner.get(partition)
        if place is None or partition.topic not in members[place].topics:
            continue
        if racks is None or racks.near(place, partition):
            kept[partition] = place
    return kept


def _loads(owners: _Owners, members: int) -> list[int]:
    loads = [0] * members
    for place in owners.values():
        loads[place] += 1
    return loads


def _hand_out(free: Iterable[TopicPartition], owners: _Owners, by_load: _LoadOrder, racks: GroupRacks | None) -> None:
    """Give each free partition to the least loaded member that wants it; first to those in one of its racks."""
    if racks is not None:
        for partition in free:
            candidates = by_load.from_least(partition.topic)
            place = next((place for place in candidates if racks.near(place, partition)), None)
            if place is not None:
                owners[partition] = place
                by_load.shift(place, +1)
    for partition in free:
        if partition not in owners:
            owners[partition] = place = by_load.least(partition.topic)
            by_load.shift(place, +1)


def _shares(every: Iterable[TopicPartition], owners: _Owners, members: int) -> list[list[TopicPartition]]:
    shares: list[list[TopicPartition]] = [[] for _ in range(members)]
    for partition in every:
        shares[owners[partition]].append(partition)
    return shares


# --- balancing -------------------------------------------------------------------------------------------------------


class _LoadOrder:
    """Members in order of their load, and of their place where loads are equal.

    An entry is one number, load times members plus place: it sorts, and can be found, without tuples.
    """

    def __init__(self, wants: Sequence[frozenset[str]], loads: Sequence[int]) -> None:
        self.wants = wants
        self.loads = list(loads)
        self._sorted = sorted(load * len(loads) + place for place, load in enumerate(loads))
        self._least: dict[str, int] = {}

    def shift(self, place: int, by: int) -> None:
        """Add `by` partitions to the load of a member."""
        members = len(self.loads)
        entry = self.loads[place] * members + place
        del self._sorted[bisect_left(self._sorted, entry)]
        insort(self._sorted, entry + by * members)
        self.loads[place] += by
        self._least.clear()

    def from_least(self, topic: str) -> Iterator[int]:
        """The members that want the topic, the least loaded first."""
        members = len(self.loads)
        return (place for entry in self._sorted if topic in self.wants[place := entry % members])

    def least(self, topic: str) -> int:
        """The member with the fewest partitions of all that want the topic; there is one. Remembered until a load changes."""
        place = self._least.get(topic)
        if place is None:
            place = self._least[topic] = next(self.from_least(topic))
        return place

    @property
    def is_even(self) -> bool:
        """No member has two more than another."""
        members = len(self.loads)
        return self._sorted[-1] // members - self._sorted[0] // members <= 1


_Route = tuple[str, int, int]
"""A topic, the place (the member) that one of its partitions had first, and its place now."""


class _Balancer:
    """Moves single partitions from members with more to members with less, until no such move makes the loads more even.

    It changes `owners` and the loads. Every move makes the loads more even, so the loop ends.
    """

    def __init__(
        self, owners: dict[TopicPartition, int], by_load: _LoadOrder, earlier: Mapping[TopicPartition, int]
    ) -> None:
        self._owners = owners
        self._order = by_load
        self._earlier = earlier
        self._start: dict[TopicPartition, int] = {}
        self._moved: dict[_Route, set[TopicPartition]] = {}

    def balance(self, partitions: Sequence[TopicPartition]) -> None:
        """Move these partitions, or others that moved before, as long as that makes the loads more even."""
        moves = 1
        while moves and not self._order.is_even:
            moves = sum(map(self._improve, partitions))

    def _improve(self, partition: TopicPartition) -> bool:
        """Move the partition, or another one of its topic, if a member that wants it has two fewer than its owner."""
        loads = self._order.loads
        low = loads[self._owners[partition]] - 1
        place = self._earlier.get(partition)
        # A return to the earlier owner is better than a move to a third member.
        if place is None or loads[place] >= low or partition.topic not in self._order.wants[place]:
            place = self._order.least(partition.topic)
        if loads[place] >= low:
            return False
        self._move(self._instead_of(partition, place), place)
        return True

    def _instead_of(self, partition: TopicPartition, to: int) -> TopicPartition:
        """A partition of the same topic that moved the opposite way, if there is one: undoing that move is better than a second one."""
        came = self._moved.get((partition.topic, to, self._owners[partition]))
        return min(came) if came else partition

    def _move(self, partition: TopicPartition, to: int) -> None:
        place = self._owners[partition]
        start = self._start.setdefault(partition, place)
        self._moved.get((partition.topic, start, place), set()).discard(partition)
        if start != to:
            self._moved.setdefault((partition.topic, start, to), set()).add(partition)
        self._owners[partition] = to
        self._order.shift(place, -1)
        self._order.shift(to, +1)
