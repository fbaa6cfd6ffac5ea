"""The lanes of a group's partitions: when each had which owner, no owner, or two."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from membership_client.core.events import Subscribe
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import OwnedPeriod
from membership_client.debugger.model.shared_partitions import SharedPeriod, shared_periods_of
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned import uncovered
from membership_client.debugger.report.content import Overlap, OwnedSpan, PartitionLane, UnownedSpan
from membership_client.debugger.report.member_lanes import Presence, cause_of, states_of
from membership_client.types import MemberState, TopicPartition

# --- owned -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owned:
    partition: TopicPartition
    run: MemberRun
    span: OwnedSpan
    ends: bool
    """False if the run may have owned it for longer: its trace was saved before, or all traces end."""


def owned_by(run: MemberRun, presence: Presence, lane: int) -> Iterator[Owned]:
    # By identity: a period begins and ends with the very entry in which a callback returned.
    causes = {id(call.last): cause_of(call) for call in run.calls if call.returned}
    for period in run.owned_periods:
        ended = presence.until if period.is_open else period.ended.time
        span = OwnedSpan(
            began=period.began.time,
            ended=max(ended, period.began.time),
            owner=lane,
            epoch=period.began.epoch,
            reason=causes.get(id(period.began), "owned when the trace began"),
            ending=_ending(period, run, presence) or causes.get(id(period.ended), ""),
        )
        ends = not period.is_open or presence.vanished or run.stop is not None
        yield Owned(period.partition, run, span, ends)


def _ending(period: OwnedPeriod, run: MemberRun, presence: Presence) -> str:
    """Why it ended without a callback."""
    if not period.is_open:
        return ""
    if presence.vanished:
        return "the trace ends: the process was killed or stopped, or the rest is missing"
    return "closed without giving it back" if run.stop is not None else "still owned when its trace ends"


# --- lanes and overlaps ----------------------------------------------------------------------------------------------


def partition_lanes(
    group: Group, presences: Mapping[MemberRun, Presence], lane_of: Mapping[MemberRun, int]
) -> list[PartitionLane]:
    """By topic and number; `lane_of` says which of the report's members a run is."""
    owned: dict[TopicPartition, list[Owned]] = defaultdict(list)
    for run in group.runs:
        for one in owned_by(run, presences[run], lane_of[run]):
            owned[one.partition].append(one)
    times = {topic: wanted(topic, presences) for topic in {partition.topic for partition in owned}}
    shared: dict[TopicPartition, list[SharedPeriod]] = defaultdict(list)
    for period in shared_periods_of(group):
        shared[period.partition].append(period)
    return [_lane(group, owned[each], times[each.topic], shared[each]) for each in sorted(owned)]


def _lane(group: Group, owned: list[Owned], times: list[Interval], shared: list[SharedPeriod]) -> PartitionLane:
    owned.sort(key=lambda one: (one.span.began, one.span.ended, one.span.owner))
    return PartitionLane(
        group=group.name,
        partition=owned[0].partition,
        owned=tuple(one.span for one in owned),
        gaps=tuple(gaps_between(owned, group.until, times)),
        overlaps=tuple(overlaps_of(owned, shared)),
    )


def overlaps_of(owned: Sequence[Owned], shared: Sequence[SharedPeriod]) -> Iterator[Overlap]:
    """`owned` by when each began; sure are those that a finding speaks of."""
    waiting, there = deque(owned), list[Owned]()
    edges = sorted({edge for one in owned for edge in (one.span.began, one.span.ended)})
    for began, ended in itertools.pairwise(edges):
        while waiting and waiting[0].span.began <= began:
            there.append(waiting.popleft())
        there = [one for one in there if one.span.ended > began]
        if len(there) > 1:
            sure = any(period.began <= began and ended <= period.ended for period in shared)
            yield Overlap(began, ended, tuple(one.span.owner for one in there), sure)


# --- times without an owner ------------------------------------------------------------------------------------------


_AWAY = frozenset({MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.FATAL})

Interval = tuple[float, float]


def wanted(topic: str, presences: Mapping[MemberRun, Presence]) -> list[Interval]:
    """When the group had a member that subscribes to the topic: a partition that no member wants needs no owner."""
    wanting = ((run, there) for run, there in presences.items() if _wants(run, topic))
    spans = (span for run, there in wanting for span in states_of(run, there.until))
    return _union((span.began, span.ended) for span in spans if span.state not in _AWAY)


def _wants(run: MemberRun, topic: str) -> bool:
    """Did the run subscribe to the topic at any time? A pattern may match any topic: only the coordinator knows which."""
    stated = [run.start.subscription, *(step.event for step in run.steps)]
    subscribed = [event for event in stated if isinstance(event, Subscribe)]
    return not subscribed or any(event.regex is not None or topic in event.topics for event in subscribed)


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], ended)
        else:
            found.append((began, ended))
    return found


def gaps_between(owned: Sequence[Owned], until: float, wanted: Sequence[Interval]) -> Iterator[UnownedSpan]:
    """`owned` by when each began.

    Before the first one the partition may not have existed; after one whose end is not known it may still have been owned.
    """
    for last, following in uncovered(owned, lambda one: one.span.began, lambda one: one.span.ended):
        if last.ends:
            taken_at = until if following is None else following.span.began
            yield from _during(wanted, last.span.ended, taken_at, _reason(last, following))


def _reason(last: Owned, following: Owned | None) -> str:
    before = f"Last owned by {last.run.name} ({last.span.ending})"
    if following is None:
        return f"{before}\nNo traced member has owned it since."
    return f"{before}\nNext owner: {following.run.name} ({following.span.reason})"


def _during(wanted: Sequence[Interval], began: float, ended: float, reason: str) -> Iterator[UnownedSpan]:
    for first, last in wanted:
        if (start := max(first, began)) < (end := min(last, ended)):
            yield UnownedSpan(start, end, reason)
