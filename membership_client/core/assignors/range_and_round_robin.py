"""The assignors `range` and `roundrobin`, which do not look at what members held.

`range` cuts the partitions of each topic into equal, neighbouring pieces, topic by topic. Topics with as many partitions and
the same subscribers are cut in the same way, so that a member with partition 3 of one has partition 3 of the other. The first
members get the extra partitions, of every topic. Where racks are known, ranges follow them: as even as without racks, and as
near as that allows. Java takes every replica into account, in sync or not, and so do we.

`roundrobin` deals all partitions out to the members in turn, in order of topic and number. With equal subscriptions the shares
differ by one partition at most. It ignores racks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle, islice

from membership_client.core.assignors.members import Plan, in_order, near, partitions_of, subscribers, worth_matching
from membership_client.subscriptions import MemberSubscription, TopicLayout


def assign_range(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """The plan of Java's RangeAssignor, also where racks are known."""
    members = in_order(subscriptions)
    shares: Plan = {member.member_id: [] for member in members}
    takers = list(shares.values())
    wanted = dict(sorted(subscribers(members, topics).items()))
    racks = [member.rack or None for member in members]
    if racks_matter(wanted, topics, racks):
        for topic, pieces in cut_by_racks(wanted, topics, racks).items():
            partitions = partitions_of(topic, topics[topic])
            for place, numbers in pieces.items():
                takers[place] += [partitions[number] for number in sorted(numbers)]
        return shares
    for topic, wanting in wanted.items():
        partitions = partitions_of(topic, topics[topic])
        quota, extra = divmod(len(partitions), len(wanting))
        start = 0
        # With a quota of 0, members after the extra ones get nothing.
        for at, place in enumerate(wanting if quota else wanting[:extra]):
            end = start + quota + (at < extra)
            takers[place] += partitions[start:end]
            start = end
    return shares


# --- ranges that follow racks ----------------------------------------------------------------------------------------


_Racks = Sequence[str | None]
"""The racks of the members, by place."""


def racks_matter(wanted: Mapping[str, Sequence[int]], topics: Mapping[str, TopicLayout], racks: _Racks) -> bool:
    """Do racks matter for one of the topics? Then all topics are cut by racks."""
    return any(racks) and any(_matters(topics[topic], wanting, racks) for topic, wanting in wanted.items())


def _matters(layout: TopicLayout, wanting: Sequence[int], racks: _Racks) -> bool:
    mine = {rack for place in wanting if (rack := racks[place])}
    return worth_matching(mine, layout.racks)


def cut_by_racks(
    wanted: Mapping[str, Sequence[int]], topics: Mapping[str, TopicLayout], racks: _Racks
) -> dict[str, dict[int, list[int]]]:
    """Partition numbers by place, for each topic."""
    alike: dict[tuple[tuple[int, ...], int], list[str]] = {}
    for topic, wanting in wanted.items():
        alike.setdefault((tuple(wanting), topics[topic].partitions), []).append(topic)
    return {topic: pieces for family in alike.values() for topic, pieces in _cut(family, wanted, topics, racks)}


def _cut(
    family: Sequence[str], wanted: Mapping[str, Sequence[int]], topics: Mapping[str, TopicLayout], racks: _Racks
) -> Iterable[tuple[str, dict[int, list[int]]]]:
    first = family[0]
    layout, wanting = topics[first], wanted[first]
    common = _common_racks([topics[topic] for topic in family])
    cut = _Cut(layout.partitions, wanting)
    if len(family) > 1 and any(racks[place] for place in wanting):
        cut.number_by_number(lambda place, number: near(racks[place], common[number]))
    elif _matters(layout, wanting, racks):
        cut.member_by_member(lambda place, number: near(racks[place], common[number]))
    cut.member_by_member(lambda _place, _number: True)
    return ((topic, cut.pieces) for topic in family)


def _common_racks(layouts: Sequence[TopicLayout]) -> list[frozenset[str]]:
    """For each partition number, the racks in which all these topics have a replica of it."""
    return [
        frozenset.intersection(*(layout.racks[number] if layout.racks else frozenset() for layout in layouts))
        for number in range(layouts[0].partitions)
    ]


class _Cut:
    """Gives partition numbers to members; no member gets more than its quota."""

    def __init__(self, partitions: int, wanting: Sequence[int]) -> None:
        self.pieces: dict[int, list[int]] = {place: [] for place in wanting}
        self._quota, self._extra = divmod(partitions, len(wanting))
        self._rest = dict.fromkeys(range(partitions))

    def member_by_member(self, may: Callable[[int, int], bool]) -> None:
        """Each member takes the first numbers that it may have."""
        for place in self.pieces:
            fitting = (number for number in tuple(self._rest) if may(place, number))
            for number in islice(fitting, self._room(place)):
                self._give(number, place)

    def number_by_number(self, may: Callable[[int, int], bool]) -> None:
        """Each number goes to the first member that may have it."""
        for number in tuple(self._rest):
            taker = next((place for place in self.pieces if self._room(place) and may(place, number)), None)
            if taker is not None:
                self._give(number, taker)

    def _room(self, place: int) -> int:
        return max(0, self._quota + (self._extra > 0) - len(self.pieces[place]))

    def _give(self, number: int, place: int) -> None:
        self.pieces[place].append(number)
        self._extra -= len(self.pieces[place]) > self._quota
        del self._rest[number]


# --- roundrobin ------------------------------------------------------------------------------------------------------


def assign_round_robin(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """The plan of Java's RoundRobinAssignor."""
    members = in_order(subscriptions)
    shares: Plan = {member.member_id: [] for member in members}
    takers = list(shares.values())
    turn = 0
    for topic, wanting in sorted(subscribers(members, topics).items()):
        # The turn goes on from topic to topic; members that do not want this topic are passed over.
        first = bisect_left(wanting, turn) % len(wanting)
        turns = islice(cycle(wanting), first, None)
        for turn, partition in zip(turns, partitions_of(topic, topics[topic]), strict=False):
            takers[turn].append(partition)
        turn += 1
    return shares
