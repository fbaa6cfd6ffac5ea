"""The rebalances of a group, by group epoch: the coordinator counts it, so its order does not depend on clocks."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from membership_client.core import reasons
from membership_client.core.events import ClassicHeartbeat, Heartbeat, JoinGroup, Send
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import Membership, MembershipEnd
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import MemberState, TopicPartition


@dataclass(frozen=True, slots=True)
class Arrival:
    """A member reached an epoch."""

    run: MemberRun
    membership: Membership
    entry: TraceEntry
    settled: TraceEntry
    """When it was stable at that epoch, or else its last entry before the next epoch."""


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
        return min(arrival.entry.time for arrival in self.arrivals)

    @property
    def lasted_s(self) -> float:
        """The time that the slowest member took, by its own clock."""
        times: dict[str, list[float]] = {}
        for arrival in self.arrivals:
            times.setdefault(arrival.run.member_id, []).extend((arrival.entry.at, arrival.settled.at))
        busy = [(what.run, what.entry) for what in self.triggers]
        busy += [(move.run, move.entry) for move in (*self.gained, *self.lost)]
        for run, entry in busy:
            times.setdefault(run.member_id, []).append(entry.at)
        return max(max(own) - min(own) for own in times.values())


@functools.lru_cache(maxsize=1)
def rebalances_of(group: Group) -> tuple[GroupRebalance, ...]:
    """By epoch; only epochs that a traced member was seen to reach."""
    arrivals: dict[int, list[Arrival]] = {}
    for run in group.runs:
        for membership in run.memberships:
            for epoch, entry in membership.epochs:
                arrivals.setdefault(epoch, []).append(
                    Arrival(run, membership, entry, _settled(run, membership, epoch, entry))
                )
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


def _settled(run: MemberRun, membership: Membership, epoch: int, reached: TraceEntry) -> TraceEntry:
    following = next((entry for later, entry in membership.epochs if later > epoch), membership.last)
    within = [step for step in run.steps_between(reached.at, following.at) if step.epoch == epoch]
    return next((step for step in within if step.state is MemberState.STABLE), within[-1] if within else reached)


# --- what moved ------------------------------------------------------------------------------------------------------


def _gained(group: Group, epoch: int) -> list[Move]:
    """Without the partitions that a static member gets back when it returns."""
    return [
        Move(run, period.partition, period.began)
        for run in group.runs
        for period in run.owned_periods
        if period.began.epoch == epoch and period.partition not in period.began.owned_before
        if not _is_back(group, run, period.began)
    ]


def _is_back(group: Group, run: MemberRun, entry: TraceEntry) -> bool:
    membership = next(
        (membership for membership in run.memberships if membership.first.at <= entry.at <= membership.last.at), None
    )
    return membership is not None and membership.last_epoch == entry.epoch and _returns(group, run, membership)


def _lost(group: Group, epoch: int) -> list[Move]:
    """A member reaches the new epoch only after it has given up what it must."""
    return [
        Move(run, period.partition, period.ended)
        for run in group.runs
        for period in run.owned_periods
        if not period.is_open and _next_epoch(run, period.ended) == epoch
    ]


def _next_epoch(run: MemberRun, entry: TraceEntry) -> int | None:
    for membership in run.memberships:
        if entry.epoch > 0 and membership.first.at <= entry.at <= membership.last.at:
            return next((epoch for epoch, reached in membership.epochs if epoch > entry.epoch), None)
    return None


# --- why -------------------------------------------------------------------------------------------------------------


def _triggers(group: Group, seen: dict[int, list[Arrival]]) -> dict[int, list[Trigger]]:
    found: dict[int, list[Trigger]] = {}
    for run in group.runs:
        for membership in run.memberships:
            for epoch, trigger in (
                *_joins(group, run, membership, seen),
                *_changes(run, membership),
                *_rejoins(run, membership),
                *_ends(group, run, membership, seen),
            ):
                found.setdefault(epoch, []).append(trigger)
    return found


def _joins(
    group: Group, run: MemberRun, membership: Membership, seen: dict[int, list[Arrival]]
) -> list[tuple[int, Trigger]]:
    if membership.joined is None or not membership.epochs or _returns(group, run, membership):
        return []
    joined, first = membership.joined, membership.epochs[0][0]
    others = [arrival for arrival in seen.get(first, ()) if arrival.membership is not membership]
    again = any(other.last.at < membership.first.at for other in run.memberships)
    trigger = Trigger(run, joined, f"{run.name} joined{' again' if again else ''}", sure=not others)
    if run.is_classic or not any(_was_there_before(group, other, joined, first) for other in others):
        return [(first, trigger)]
    # Where targets are computed in batches, a newcomer is let in at the old epoch, and its join raises the next one.
    return [(later, trigger) for later in seen if later > first][:1]


def _was_there_before(group: Group, other: Arrival, joined: TraceEntry, epoch: int) -> bool:
    """Did the other member reach that epoch before this one joined, so that this join cannot have raised it?

    Of two members that joined with the same epoch, the earlier one raised it, by whatever clock.
    """
    reached = other.entry.time
    if reached < joined.time and other.membership.joined is not None and other.membership.epochs[0][0] == epoch:
        return True
    return group.clearly_before(reached, joined.time)


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


def _changes(run: MemberRun, membership: Membership) -> list[tuple[int, Trigger]]:
    found: list[tuple[int, Trigger]] = []
    stated: tuple[object, object] | None = None
    for heartbeat in run.heartbeats:
        request = heartbeat.request
        if isinstance(request, ClassicHeartbeat) or request.topics is None or heartbeat.accepted is None:
            continue
        before, stated = stated, (request.topics, request.regex)
        inside = membership.first.at < heartbeat.sent.at <= membership.last.at
        if inside and before not in {None, stated} and heartbeat.accepted.epoch > request.epoch > 0:
            found.append((heartbeat.accepted.epoch, _change(run, heartbeat.sent, request)))
    return found


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
    return found


def _asks_for_rebalance(reason: str) -> bool:
    return reason not in {reasons.REBALANCING, reasons.NO_ANSWER} and not reason.startswith(reasons.COORDINATOR_ERROR)


def _rejoin(run: MemberRun, sent: TraceEntry, request: JoinGroup) -> Trigger:
    if request.reason == reasons.SUBSCRIPTION_CHANGED:
        return _change(run, sent, request)
    return Trigger(run, sent, f"{run.name} joined again ({request.reason})", sure=True)


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
    since = _confirmed_time(run, membership) - group.skew_s
    later = (epoch for epoch, found in seen.items() if epoch > membership.last_epoch and _reached(found, run) >= since)
    epoch = next(later, None)
    reason = f" ({membership.reason})" if membership.reason else ""
    text = f"{run.name} {_SAID[membership.ending]}{reason}"
    return [(epoch, Trigger(run, membership.last, text, sure=False))] if epoch is not None else []


def _comes_back(group: Group, run: MemberRun, membership: Membership) -> bool:
    away = membership.ending is MembershipEnd.AWAY and run.instance_id is not None
    return away and any(
        _returns(group, other, again)
        for other in group.runs
        if other.instance_id == run.instance_id
        for again in other.memberships
        if again.joined is not None and again.first.time > membership.first.time
    )


def _confirmed_time(run: MemberRun, membership: Membership) -> float:
    """When it was certainly still in the group: a member that is fenced learns of it later."""
    if membership.ending not in {MembershipEnd.FENCED, MembershipEnd.OPEN}:
        return membership.last.time
    ends = [heartbeat.ended for heartbeat in run.heartbeats if heartbeat.is_accepted and heartbeat.ended]
    times = [end.time for end in ends if membership.first.at <= end.at <= membership.last.at]
    return times[-1] if times else membership.first.time


def _reached(arrivals: list[Arrival], run: MemberRun) -> float:
    return min((arrival.entry.time for arrival in arrivals if arrival.run is not run), default=float("-inf"))
