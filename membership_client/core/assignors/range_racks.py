"""Ranges that follow racks: as even as without racks, and as near as that allows.

Topics that are cut alike (same subscribers, same count) stay so: a partition number goes to one member for all of them,
near where all have a replica. Java takes every replica into account, in sync or not, and so do we.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from membership_client.core.assignors.racks import near, worth_matching
from membership_client.subscriptions import TopicLayout

_Racks = Sequence[str | None]
"""Of the members, by place."""


def racks_matter(wanted: Mapping[str, Sequence[int]], topics: Mapping[str, TopicLayout], racks: _Racks) -> bool:
    """Is there a topic for which they do? Then all are cut by racks."""
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
    """Of each partition number, the racks in which all these topics have a replica of it."""
    return [
        frozenset.intersection(*(layout.racks[number] if layout.racks else frozenset() for layout in layouts))
        for number in range(layouts[0].partitions)
    ]


class _Cut:
    """Partition numbers on their way to members, none of whom gets more than its quota."""

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
