"""The rebalances of a group, by group epoch: the coordinator counts it, so its order does not depend on clocks."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from membership_client.core import reasons
from membership_client.core.events import ClassicHeartbeat, Heartbeat, JoinGroup, Send, Subscribe
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import Membership, MembershipEnd, OwnedPeriod
from membership_client.debugger.model.shared_partitions import shared_periods_of
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Arrival:
    """A member reached an epoch."""

    run: MemberRun
    membership: Membership
    entry: TraceEntry


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a member did, or what was done to it, that made the coordinator raise the group epoch."""

    run: MemberRun
    entry: TraceEntry
    text: str
    sure: bool
    """The answer to that very request brought the new epoch."""
    is_change: bool = False
    """A change of the subscription: the member itself stays in the group."""
    by_clock: bool = False
    """Only times of day say that it belongs to this epoch: it may belong to a later one."""


class Move(NamedTuple):
    """A member got a partition, or gave it up."""

    run: MemberRun
    partition: TopicPartition
    entry: TraceEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRebalance:
    epoch: int
    arrivals: tuple[Arrival, ...]
    triggers: tuple[Trigger, ...]
    gained: tuple[Move, ...]
    lost: tuple[Move, ...]

    @property
    def began(self) -> float:
        """When its first trigger came; or when the first member reached it, if that was before: a fence is noticed late."""
        return self._first[0]

    @property
    def ended(self) -> float:
        """When the last partition found its owner; of partitions that no traced member got, when the last was given up."""
        return max(self.began, self._last[0])

    @property
    def lasted_s(self) -> float:
        return self.ended - self.began

    @property
    def uncertainty_s(self) -> float:
        """By how much `lasted_s` may be wrong: see `MemberRun.uncertainty_s`."""
        return self._first[1].uncertainty_s(self._last[1], self.began, self.ended)

    @property
    def _first(self) -> tuple[float, MemberRun]:
        """The earliest time that belongs to it, and by whose clock."""
        reached = [(arrival.entry.time, arrival.run) for arrival in self.arrivals]
        known = [(trigger.entry.time, trigger.run) for trigger in self.triggers]
        return min((*known, *reached), key=lambda each: each[0])

    @property
    def _last(self) -> tuple[float, MemberRun]:
        moves = [(move.entry.time, move.run) for move in (*self.gained, *self.given_up)]
        return max(moves, key=lambda each: each[0], default=self._first)

    @property
    def given_up(self) -> list[Move]:
        """Of partitions that no traced member got."""
        got = {move.partition for move in self.gained}
        return [move for move in self.lost if move.partition not in got]


@functools.lru_cache(maxsize=1)
def rebalances_of(group: Group) -> tuple[GroupRebalance, ...]:
    """By epoch; only epochs that a traced member was seen to reach."""
    arrivals: dict[int, list[Arrival]] = {}
    for run in group.runs:
        for membership in run.memberships:
            for epoch, entry in membership.epochs:
                arrivals.setdefault(epoch, []).append(Arrival(run, membership, entry))
    seen = {epoch: found for epoch, found in sorted(arrivals.items()) if any(map(_is_witnessed, found))}
    triggers = _triggers(group, seen)
    return tuple(
        GroupRebalance(
            epoch=epoch,
            arrivals=tuple(found),
            triggers=tuple(triggers.get(epoch, ())),
            gained=tuple(_gained(group, epoch)),
            lost=tuple(_lost(group, epoch)),
        )
        for epoch, found in seen.items()
    )


def _is_witnessed(arrival: Arrival) -> bool:
    return arrival.entry is not arrival.membership.first or arrival.membership.joined is not None


# --- what moved ------------------------------------------------------------------------------------------------------


def _gained(group: Group, epoch: int) -> list[Move]:
    """Without the partitions that a static member gets back when it returns."""
    return [
        Move(run, period.partition, period.began)
        for run in group.runs
        for period in run.owned_periods
        if period.began.epoch == epoch and period.partition not in period.began.owned_before
        if not _is_back(group, run, period)
    ]


def _is_back(group: Group, run: MemberRun, period: OwnedPeriod) -> bool:
    """Did the static member own that very partition at that very epoch before, in an earlier membership?"""
    membership = _membership_at(run, period.began)
    if run.instance_id is None or membership is None:
        return False
    return any(
        former.partition == period.partition and former.ended.epoch_before == period.began.epoch
        for other in group.runs
        if other.instance_id == run.instance_id and other.began <= run.began
        for former in other.owned_periods
        if other is not run or former.ended.at < membership.first.at
    )


def _membership_at(run: MemberRun, entry: TraceEntry) -> Membership | None:
    return next((m for m in run.memberships if m.first.at <= entry.at <= m.last.at), None)


def _lost(group: Group, epoch: int) -> list[Move]:
    """A member reaches the new epoch only after it has given up what it must.

    While its callback runs, others may reach epochs that it never has: what they got in these did not move in this one.
    """
    return [
        Move(run, period.partition, period.ended)
        for run in group.runs
        for period in run.owned_periods
        if not period.is_open and _next_epoch(run, period.ended) == epoch
        if not any(other.began.epoch < epoch for other in _later_periods(group, run, period))
    ]


def _later_periods(group: Group, run: MemberRun, period: OwnedPeriod) -> Iterator[OwnedPeriod]:
    """Of the same partition: in which other members owned it under a later epoch of the group."""
    for other, later in _periods_by_partition(group)[period.partition]:
        if other is not run and later.began.epoch > period.began.epoch:
            yield later


@functools.lru_cache(maxsize=1)
def _periods_by_partition(group: Group) -> dict[TopicPartition, list[tuple[MemberRun, OwnedPeriod]]]:
    found: dict[TopicPartition, list[tuple[MemberRun, OwnedPeriod]]] = {}
    for run in group.runs:
        for period in run.owned_periods:
            found.setdefault(period.partition, []).append((run, period))
    return found


def _next_epoch(run: MemberRun, entry: TraceEntry) -> int | None:
    membership = _membership_at(run, entry)
    if membership is None or entry.epoch == 0:
        return None
    return next((epoch for epoch, _ in membership.epochs if epoch > entry.epoch), None)


# --- why -------------------------------------------------------------------------------------------------------------


def _triggers(group: Group, seen: dict[int, list[Arrival]]) -> dict[int, list[Trigger]]:
    found: dict[int, list[Trigger]] = {}
    for run in group.runs:
        for membership in run.memberships:
            for epoch, trigger in (
                *_joins(group, run, membership, seen),
                *_changes(group, run, membership, seen),
                *_rejoins(run, membership),
                *_ends(group, run, membership, seen),
            ):
                found.setdefault(epoch, []).append(trigger)
    return _spread(found, seen)


def _spread(found: dict[int, list[Trigger]], epochs: Iterable[int]) -> dict[int, list[Trigger]]:
    """Of members that left one after the other each raised an epoch; their lines may all be older than the first of these."""
    spare: list[Trigger] = []
    for epoch in epochs:
        if epoch in found:
            spare = _spare(found[epoch])
        elif spare:
            before = next(earlier for earlier in found if spare[0] in found[earlier])
            found[before].remove(spare[0])
            found[epoch] = [spare.pop(0)]
    return found


def _spare(triggers: list[Trigger]) -> list[Trigger]:
    """Those that the epoch can do without, in order of time."""
    movable = sorted((trigger for trigger in triggers if trigger.by_clock), key=lambda trigger: trigger.entry.time)
    return movable[1:] if len(movable) == len(triggers) else movable


def _joins(
    group: Group, run: MemberRun, membership: Membership, seen: dict[int, list[Arrival]]
) -> list[tuple[int, Trigger]]:
    if membership.joined is None or not membership.epochs or _returns(group, run, membership):
        return []
    joined, first = membership.joined, membership.epochs[0][0]
    others = [arrival for arrival in seen.get(first, ()) if arrival.membership is not membership]
    mine = Arrival(run, membership, joined)
    again = any(other.last.at < membership.first.at for other in run.memberships)
    trigger = Trigger(run, _asked(run, joined), f"{run.name} joined{' again' if again else ''}", sure=not others)
    if run.is_classic or not any(_was_there_before(group, other, mine, first) for other in others):
        return [(first, trigger)]
    # Where targets are computed in batches, a newcomer is let in at the old epoch, and its join raises the next one.
    return [(later, trigger) for later in seen if later > first][:1]


def _asked(run: MemberRun, joined: TraceEntry) -> TraceEntry:
    """When it sent the request whose answer let it in: a coordinator holds joins of classic groups back until all have come."""
    before = run.steps_between(run.steps[0].at, joined.at)
    return next((step for step in reversed(before) if any(map(_is_join, step.effects_of(Send)))), joined)


def _is_join(send: Send) -> bool:
    request = send.request
    return isinstance(request, JoinGroup) or (isinstance(request, Heartbeat) and request.epoch == 0)


def _was_there_before(group: Group, other: Arrival, mine: Arrival, epoch: int) -> bool:
    """Did the other member reach that epoch before this one joined, so that this join cannot have raised it?

    Of two members that joined with the same epoch, the earlier one raised it, by whatever clock.
    """
    reached, joined = other.entry.time, mine.entry.time
    if reached < joined and other.membership.joined is not None and other.membership.epochs[0][0] == epoch:
        return True
    return group.surely_before(other.run, reached, mine.run, joined)


def _returns(group: Group, run: MemberRun, membership: Membership) -> bool:
    """A static member that comes back to the place it left, under an epoch that its last run knew."""
    if run.instance_id is None:
        return False
    former = (
        s
        for other in group.runs
        if other.instance_id == run.instance_id
        for s in other.memberships
        if s is not membership
    )
    return any(
        before.last_epoch == membership.epochs[0][0] for before in former if before.first.time <= membership.first.time
    )


def _changes(
    group: Group, run: MemberRun, membership: Membership, seen: dict[int, list[Arrival]]
) -> list[tuple[int, Trigger]]:
    found: list[tuple[int, Trigger]] = []
    stated: tuple[object, object] | None = None
    for heartbeat in run.heartbeats:
        request = heartbeat.request
        if isinstance(request, ClassicHeartbeat) or request.topics is None or heartbeat.accepted is None:
            continue
        before, stated = stated, (request.topics, request.regex)
        inside = membership.first.at < heartbeat.sent.at <= membership.last.at
        if not inside or before in {None, stated} or request.epoch <= 0:
            continue
        if heartbeat.accepted.epoch > request.epoch:
            epoch: int | None = _epoch_after(group, run, heartbeat.sent, heartbeat.accepted.epoch, seen)
        else:
            epoch = _epoch_reached_later(group, run, heartbeat.sent, request.epoch, seen)
        if epoch is not None:
            found.append((epoch, _change(run, heartbeat.sent, request)))
    return found


def _epoch_reached_later(
    group: Group, run: MemberRun, sent: TraceEntry, epoch: int, seen: dict[int, list[Arrival]]
) -> int | None:
    """The first epoch that no member had before the request; None if the traces have no such epoch.

    A member that must first give partitions up, or for which the coordinator has not planned yet, is answered its old epoch.
    """
    later_ones = (later for later in sorted(seen) if later > epoch)
    return next((later for later in later_ones if not _was_there(group, run, sent, seen[later])), None)


def _epoch_after(group: Group, run: MemberRun, sent: TraceEntry, epoch: int, seen: dict[int, list[Arrival]]) -> int:
    """The epoch of the answer, unless another member had that epoch before the request was sent: then the one after it."""
    if not _was_there(group, run, sent, seen.get(epoch, ())):
        return epoch
    return next((later for later in seen if later > epoch), epoch)


def _was_there(group: Group, run: MemberRun, sent: TraceEntry, arrivals: Iterable[Arrival]) -> bool:
    """Had a member arrived at the epoch before the request was sent?"""
    return any(group.surely_before(arrival.run, arrival.entry.time, run, sent.time) for arrival in arrivals)


def _change(run: MemberRun, sent: TraceEntry, request: Heartbeat | JoinGroup) -> Trigger:
    regex = request.regex if isinstance(request, Heartbeat) else None
    wanted = regex or ", ".join(sorted(request.topics or ()))
    return Trigger(run, sent, f"{run.name} changed its subscription to {wanted}", sure=True, is_change=True)


def _rejoins(run: MemberRun, membership: Membership) -> list[tuple[int, Trigger]]:
    """A member of a classic group that wants a rebalance joins again with a reason; the others join as followers."""
    found: list[tuple[int, Trigger]] = []
    for step in run.steps_between(membership.first.at, membership.last.at):
        for send in step.effects_of(Send):
            request = send.request
            if (
                not isinstance(request, JoinGroup)
                or step is membership.first
                or not _asks_for_rebalance(request.reason)
            ):
                continue
            epoch = next((epoch for epoch, reached in membership.epochs if reached.at > step.at), None)
            if epoch is not None:
                found.append((epoch, _rejoin(run, step, request)))
    # A request that is sent again, because the coordinator did not answer, asks for nothing new.
    first = {(epoch, trigger.text): (epoch, trigger) for epoch, trigger in reversed(found)}
    return sorted(first.values(), key=lambda each: each[1].entry.at)


def _asks_for_rebalance(reason: str) -> bool:
    return reason not in {reasons.REBALANCING, reasons.NO_ANSWER} and not reason.startswith(reasons.COORDINATOR_ERROR)


def _rejoin(run: MemberRun, sent: TraceEntry, request: JoinGroup) -> Trigger:
    if request.reason == reasons.SUBSCRIPTION_CHANGED:
        return _pattern_change(run, sent, request) if _has_pattern(run, sent) else _change(run, sent, request)
    return Trigger(run, sent, f"{run.name} joined again ({request.reason})", sure=True)


def _has_pattern(run: MemberRun, sent: TraceEntry) -> bool:
    before = (step.event for step in reversed(run.steps) if step.at <= sent.at)
    wish = next((event for event in before if isinstance(event, Subscribe)), run.start.subscription)
    return wish is not None and wish.regex is not None


def _pattern_change(run: MemberRun, sent: TraceEntry, request: JoinGroup) -> Trigger:
    """Classic members match patterns themselves: what changed are the topics, and not what the application wants."""
    topics = ", ".join(sorted(request.topics)) or "no topic"
    return Trigger(run, sent, f"{run.name} found that its pattern matches other topics: {topics}", sure=True)


_SAID = {
    MembershipEnd.LEFT: "left",
    MembershipEnd.FENCED: "was fenced",
    MembershipEnd.STALE: "left, because it did not poll",
    MembershipEnd.FATAL: "ended",
    MembershipEnd.OPEN: "ended without leaving",
    MembershipEnd.AWAY: "left for a while and did not come back",
}


def _ends(
    group: Group, run: MemberRun, membership: Membership, seen: dict[int, list[Arrival]]
) -> list[tuple[int, Trigger]]:
    """The next epoch that another member reached after this one had gone, as far as the clocks can tell."""
    if (membership.ending is MembershipEnd.OPEN and not ended_without_close(group, run)) or _comes_back(
        group, run, membership
    ):
        return []
    if (lost := _lost_unnoticed(group, run, membership)) is not None:
        return [lost] if lost[0] in seen else []
    confirmed = confirmed_time(run, membership)
    later = [
        epoch
        for epoch, found in seen.items()
        if epoch > membership.last_epoch and _is_reached_after(group, found, run, confirmed)
    ]
    inherited = _inherited_epoch(group, run, membership)
    by_clock = inherited not in later
    epoch = next(iter(later), None) if by_clock else inherited
    text = f"{run.name} {_SAID[membership.ending]}{_reason(run, membership)}"
    return [(epoch, Trigger(run, membership.last, text, sure=False, by_clock=by_clock))] if epoch is not None else []


def _reason(run: MemberRun, membership: Membership) -> str:
    """Without a text of the broker that only names the member by its id."""
    reason = membership.reason.partition(":")[0] if run.member_id in membership.reason else membership.reason
    return f" ({reason})" if reason else ""


def _inherited_epoch(group: Group, run: MemberRun, membership: Membership) -> int | None:
    """The first epoch in which others got the partitions of a member whose session ended: it was in the group until then.

    None if it left by itself, or if no traced member got any: then only clocks can tell.
    """
    if membership.ending not in {MembershipEnd.FENCED, MembershipEnd.OPEN}:
        return None
    fenced = membership.ending is MembershipEnd.FENCED
    began = [period for period in run.owned_periods if membership.first.at <= period.began.at <= membership.last.at]
    held = [period for period in began if period.is_open or (fenced and period.ended.at >= membership.last.at)]
    epochs = (other.began.epoch for period in held for other in _later_periods(group, run, period))
    return min((epoch for epoch in epochs if epoch > membership.last_epoch), default=None)


def _lost_unnoticed(group: Group, run: MemberRun, membership: Membership) -> tuple[int, Trigger] | None:
    """The epoch in which others got its partitions, if the member left later, without having heard that its session had ended."""
    if membership.ending not in {MembershipEnd.STALE, MembershipEnd.LEFT, MembershipEnd.FATAL}:
        return None
    for shared in shared_periods_of(group):
        epoch, inside = shared.taken.began.epoch, membership.first.at <= shared.held.began.at <= membership.last.at
        if shared.stale is run and inside and epoch > membership.last_epoch and shared.began < membership.last.time:
            ends = (beat.ended for beat in reversed(run.heartbeats) if beat.is_confirmed and beat.ended)
            last = next((entry for entry in ends if entry.time <= shared.began), membership.first)
            return epoch, Trigger(run, last, f"the session of {run.name} ended before it noticed", sure=False)
    return None


def _comes_back(group: Group, run: MemberRun, membership: Membership) -> bool:
    away = membership.ending is MembershipEnd.AWAY and run.instance_id is not None
    return away and any(
        _returns(group, other, again)
        for other in group.runs
        if other.instance_id == run.instance_id
        for again in other.memberships
        if again.joined is not None and again.first.time > membership.first.time
    )


def confirmed_time(run: MemberRun, membership: Membership) -> float:
    """When it was certainly still in the group: a member that is fenced learns of it later."""
    if membership.ending not in {MembershipEnd.FENCED, MembershipEnd.OPEN}:
        return membership.last.time
    ends = [heartbeat.ended for heartbeat in run.heartbeats if heartbeat.is_accepted and heartbeat.ended]
    times = [end.time for end in ends if membership.first.at <= end.at <= membership.last.at]
    return times[-1] if times else membership.first.time


def _is_reached_after(group: Group, arrivals: list[Arrival], run: MemberRun, confirmed: float) -> bool:
    """Did the first other member reach the epoch after that time, or does the difference of two clocks leave it open?"""
    others = (arrival for arrival in arrivals if arrival.run is not run)
    first = min(others, key=lambda arrival: arrival.entry.time, default=None)
    if first is None:
        return False
    return not group.surely_before(first.run, first.entry.time, run, confirmed)
