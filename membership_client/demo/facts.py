"""The figures of each step, and the owners of each partition over time, computed from the recording."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from membership_client import MemberState
from membership_client.demo.events import (
    Called,
    Closed,
    ClusterReady,
    DemoEvent,
    ProcessEnded,
    ReasonsLogged,
    Seen,
    Started,
    StepBegan,
    StepEnded,
    StepKind,
)
from membership_client.demo.kit import GroupSeen

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The figures of one step. Partitions and members without a value are missing in the mappings."""

    step: StepBegan
    seconds: float
    settled: bool
    partitions: int
    owners_before: Mapping[int, str]
    owners_after: Mapping[int, str]
    ownerless_s: Mapping[int, float]
    """For each partition, how long it had no owner after its first owner."""
    shared: tuple[int, ...]
    """Partitions that two members owned at once."""
    callbacks: Mapping[str, int]
    rebalances: Mapping[str, int]
    """How often each member entered RECONCILING."""
    epoch_before: int
    epoch_after: int
    pids: Mapping[str, tuple[int, ...]]
    """The pids of the processes that each member started."""
    recovered_s: Mapping[str, float]
    """For each member, the time from the start of its process to its last assignment."""
    closed: tuple[Closed, ...]
    members_left: int | None
    """How many members the coordinator counts at the end; None if it cannot be asked."""
    reasons_logged: tuple[str, ...] | None
    """The reasons in the broker's log; None if the log cannot be read."""

    @property
    def moved(self) -> Mapping[int, tuple[str, str]]:
        """Partitions whose owner changed, with the owners before and after."""
        both = self.owners_before.keys() & self.owners_after.keys()
        pairs = {partition: (self.owners_before[partition], self.owners_after[partition]) for partition in sorted(both)}
        return {partition: pair for partition, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def longest_ownerless_s(self) -> float:
        return max(self.ownerless_s.values(), default=0.0)

    @property
    def others_callbacks(self) -> int:
        return sum(count for name, count in self.callbacks.items() if name not in self.step.members)

    @property
    def others_rebalances(self) -> int:
        return sum(count for name, count in self.rebalances.items() if name not in self.step.members)


def facts_of(events: Sequence[DemoEvent]) -> list[Facts]:
    """The facts of every step that began, in order."""
    began = [h for h in events if isinstance(h, StepBegan)]
    return [_facts(step, events) for step in began]


def _facts(step: StepBegan, events: Sequence[DemoEvent]) -> Facts:
    cluster = next(h for h in events if isinstance(h, ClusterReady))
    ended = next((h for h in events if isinstance(h, StepEnded) and h.number == step.number), None)
    until = ended.at if ended else max(h.at for h in events)
    lanes, within = owned_spans(events), [h for h in events if step.at <= h.at <= until]
    groups = [h for h in within if isinstance(h, GroupSeen)]
    logged = [h.reasons for h in within if isinstance(h, ReasonsLogged)]
    return Facts(
        step=step,
        seconds=until - step.at,
        settled=ended is not None and ended.settled,
        partitions=cluster.partitions,
        owners_before=_owners(lanes, step.at),
        owners_after=_owners(lanes, until),
        ownerless_s={} if step.kind is StepKind.LEAVE else _ownerless(lanes, step.at, until),
        shared=tuple(sorted(p for p, lane in lanes.items() if _shared_within(lane, step.at, until))),
        callbacks=Counter(h.name for h in within if isinstance(h, Called)),
        rebalances=_rebalances(within),
        epoch_before=_epoch(events, step.at),
        epoch_after=_epoch(events, until),
        pids=_pids(within),
        recovered_s=_recoveries(within),
        closed=tuple(h for h in within if isinstance(h, Closed)),
        members_left=groups[-1].members if groups else None,
        reasons_logged=logged[-1] if logged else None,
    )


def _owners(lanes: Mapping[int, Sequence[Span]], at: float) -> Mapping[int, str]:
    owners = {partition: owner_at(lane, at) for partition, lane in sorted(lanes.items())}
    return {partition: owner for partition, owner in owners.items() if owner is not None}


def _ownerless(lanes: Mapping[int, Sequence[Span]], begins: float, ends: float) -> Mapping[int, float]:
    seconds = {p: sum(gap.seconds_within(begins, ends) for gap in gaps(lane)) for p, lane in sorted(lanes.items())}
    return {partition: total for partition, total in seconds.items() if total > 0}


def _shared_within(lane: Sequence[Span], begins: float, ends: float) -> bool:
    return any(begins <= later.begins <= ends for _, later in overlaps(lane))


def _rebalances(within: Sequence[DemoEvent]) -> Mapping[str, int]:
    """How often each member entered RECONCILING."""
    counts: Counter[str] = Counter()
    states: dict[int, MemberState] = {}
    for seen in (h for h in within if isinstance(h, Seen)):
        if seen.state is MemberState.RECONCILING and states.get(seen.pid) is not MemberState.RECONCILING:
            counts[seen.name] += 1
        states[seen.pid] = seen.state
    return counts


def _epoch(events: Sequence[DemoEvent], at: float) -> int:
    """The group epoch that the coordinator reported last."""
    return next((h.epoch for h in reversed(events) if isinstance(h, GroupSeen) and h.at <= at), 0)


def _pids(within: Sequence[DemoEvent]) -> Mapping[str, tuple[int, ...]]:
    started = [h for h in within if isinstance(h, Started)]
    return {name: tuple(h.pid for h in started if h.name == name) for name in {h.name for h in started}}


def _recoveries(within: Sequence[DemoEvent]) -> Mapping[str, float]:
    began = {h.pid: h.at for h in within if isinstance(h, Started)}
    given = [h for h in within if isinstance(h, Called) and h.kind == "assigned" and h.pid in began]
    return {h.name: h.at - began[h.pid] for h in given}


# --- which member owned which partition from when to when, and when a partition had no owner -------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a partition had one owner, or none (`owner` is None). `ends` is None if the span has not ended."""

    owner: str | None
    begins: float
    ends: float | None = None

    def covers(self, at: float) -> bool:
        return self.begins <= at and (self.ends is None or at < self.ends)

    def seconds_within(self, begins: float, ends: float) -> float:
        """How many seconds of the span are in that time."""
        own_end = ends if self.ends is None else min(ends, self.ends)
        return max(0.0, own_end - max(begins, self.begins))


def owned_spans(events: Iterable[DemoEvent]) -> Mapping[int, Sequence[Span]]:
    """The owners of each partition. Two spans overlap only if two members owned it at once."""
    lanes: dict[int, list[Span]] = defaultdict(list)
    held: dict[tuple[int, int], Called] = {}
    for event in sorted(_relevant(events), key=lambda h: h.at):
        if isinstance(event, Called) and event.kind == "assigned":
            held.update({(event.pid, partition): event for partition in event.partitions})
            continue
        for key in _no_longer_owned(event, held):
            taken = held.pop(key)
            lanes[key[1]].append(Span(taken.name, taken.at, event.at))
    for (_, partition), taken in held.items():
        lanes[partition].append(Span(taken.name, taken.at))
    return {partition: sorted(lane, key=lambda span: span.begins) for partition, lane in lanes.items()}


def _relevant(events: Iterable[DemoEvent]) -> Iterable[Called | ProcessEnded]:
    return (event for event in events if isinstance(event, Called | ProcessEnded))


def _no_longer_owned(event: Called | ProcessEnded, held: Mapping[tuple[int, int], Called]) -> list[tuple[int, int]]:
    """The partitions that a process no longer owns: those that it gave up, or all if it ended."""
    mine = [key for key in held if key[0] == event.pid]
    return mine if isinstance(event, ProcessEnded) else [key for key in mine if key[1] in event.partitions]


def gaps(lane: Sequence[Span]) -> list[Span]:
    """The spans in which the partition had no owner, after its first owner."""
    between = [Span(None, a.ends, b.begins) for a, b in pairwise(lane) if a.ends is not None and a.ends < b.begins]
    last = lane[-1].ends if lane else None
    return between if last is None else [*between, Span(None, last)]


def owner_at(lane: Sequence[Span], at: float) -> str | None:
    return next((span.owner for span in reversed(lane) if span.covers(at)), None)


def overlaps(lane: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Pairs of spans in which two members owned the partition at once. There are none if the group works."""
    return [(a, b) for a, b in pairwise(lane) if a.ends is None or a.ends > b.begins]
