"""Who owned a partition when; when nobody did, and when two did."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from membership_client.core.events import Subscribe
from membership_client.debugger.holdings import Holding
from membership_client.debugger.life import Life
from membership_client.debugger.report.member_lanes import cause_of
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.scene import Gap, Overlap, Ownership, PartitionLane
from membership_client.debugger.report.states import states_of
from membership_client.debugger.timeline import Group
from membership_client.types import MemberState, TopicPartition

_SAME_CLOCK_S = 0.01
"""How exactly two processes of one machine know the time of day: each reads both of its clocks one after the other."""

_AWAY = frozenset({MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.FATAL})

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Owned:
    """One holding, with whose it was."""

    life: Life
    span: Ownership


def partition_lanes(
    group: Group, presences: Mapping[Life, Presence], lane_of: Mapping[Life, int]
) -> list[PartitionLane]:
    owned: dict[TopicPartition, list[Owned]] = defaultdict(list)
    for life in group.lives:
        causes = {id(call.last): cause_of(call) for call in life.calls if call.returned}
        for holding in life.holdings:
            owned[holding.partition].append(
                Owned(life, _ownership(holding, life, presences[life], lane_of[life], causes))
            )
    present = {topic: _present(topic, presences) for topic in {partition.topic for partition in owned}}
    return [_lane(group, partition, owned[partition], present[partition.topic]) for partition in sorted(owned)]


def _ownership(holding: Holding, life: Life, presence: Presence, lane: int, causes: Mapping[int, str]) -> Ownership:
    ended = presence.until if holding.is_open else holding.ended.time
    return Ownership(
        began=holding.began.time,
        ended=max(ended, holding.began.time),
        owner=lane,
        epoch=holding.began.epoch,
        reason=causes.get(id(holding.began), "owned when the trace began"),
        ending=_ending(life, presence) if holding.is_open else causes.get(id(holding.ended), ""),
    )


def _ending(life: Life, presence: Presence) -> str:
    if presence.vanished:
        return "the trace ends: the process was killed or stopped, or the rest is missing"
    return "closed without giving it back" if life.stop is not None else "still owned when the traces end"


def _lane(group: Group, partition: TopicPartition, owned: list[Owned], present: Sequence[Interval]) -> PartitionLane:
    owned.sort(key=lambda one: (one.span.began, one.span.ended, one.span.owner))
    spans = [one.span for one in owned]
    return PartitionLane(
        group=group.name,
        partition=partition,
        owned=tuple(spans),
        gaps=tuple(_gaps(owned, group.until, present)),
        overlaps=tuple(_overlaps(owned, group.skew_s)),
    )


# --- nobody ----------------------------------------------------------------------------------------------------------


def _present(topic: str, presences: Mapping[Life, Presence]) -> list[Interval]:
    """When somebody was there to own it: what nobody wants has no owner either, and that is no gap."""
    wanting = ((life, there) for life, there in presences.items() if _wants(life, topic))
    spans = (span for life, there in wanting for span in states_of(life, there.until))
    return _union((span.began, span.ended) for span in spans if span.state not in _AWAY)


def _wants(life: Life, topic: str) -> bool:
    """At some time: which topics a pattern matches, only the coordinator knows, so it may be any."""
    stated = [life.start.subscription, *(step.event for step in life.steps)]
    wishes = [wish for wish in stated if isinstance(wish, Subscribe)]
    return not wishes or any(wish.regex is not None or topic in wish.topics for wish in wishes)


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], ended)
        else:
            found.append((began, ended))
    return found


def _gaps(owned: Sequence[Owned], until: float, present: Sequence[Interval]) -> Iterator[Gap]:
    last = owned[0]
    for following in owned[1:]:
        if following.span.began > last.span.ended:
            reason = f"{_last_owned(last)}\nNext owner: {following.life.name} ({following.span.reason})"
            yield from _during(present, last.span.ended, following.span.began, reason)
        if following.span.ended > last.span.ended:
            last = following
    yield from _during(
        present, last.span.ended, until, f"{_last_owned(last)}\nNobody whose trace is here took it since."
    )


def _last_owned(last: Owned) -> str:
    return f"Last owned by {last.life.name} ({last.span.ending})"


def _during(present: Sequence[Interval], began: float, ended: float, reason: str) -> Iterator[Gap]:
    for first, last in present:
        if (start := max(first, began)) < (end := min(last, ended)):
            yield Gap(start, end, reason)


# --- two -------------------------------------------------------------------------------------------------------------


def _overlaps(owned: Sequence[Owned], skew_s: float) -> Iterator[Overlap]:
    edges = sorted({edge for one in owned for edge in (one.span.began, one.span.ended)})
    for began, ended in itertools.pairwise(edges):
        there = [one for one in owned if one.span.began <= began and one.span.ended >= ended]
        if len(there) > 1:
            yield Overlap(began, ended, tuple(one.span.owner for one in there), _is_sure(there, ended - began, skew_s))


def _is_sure(owners: Sequence[Owned], lasted_s: float, skew_s: float) -> bool:
    hosts = {one.life.host for one in owners}
    return lasted_s > (skew_s if len(hosts) > 1 else _SAME_CLOCK_S)
