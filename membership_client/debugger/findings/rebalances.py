"""REBALANCE and UNOWNED_PARTITION: how the group changed, and which partitions had no owner."""

from __future__ import annotations

from collections import defaultdict

from membership_client.core.events import CallbackKind
from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.model.epochs import GroupRebalance, rebalances_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import LOST, Membership, MembershipEnd
from membership_client.debugger.model.silent_ends import SilentEnd, silent_ends_before
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.model.unowned import UnownedPeriod, unowned_periods_of
from membership_client.debugger.model.untraced_members import has_untraced_members
from membership_client.debugger.words import joined, lasting, listed, partitions_text, second
from membership_client.types import TopicPartition

# --- REBALANCE -------------------------------------------------------------------------------------------------------


_UNTRACED = "a member without a trace, a change of the topics, or an administrator"


def rebalances(group: Group) -> list[Finding]:
    return [_rebalance_finding(group, rebalance) for rebalance in rebalances_of(group)]


def _rebalance_finding(group: Group, rebalance: GroupRebalance) -> Finding:
    triggers = rebalance.triggers
    ends = [] if triggers else silent_ends_before(group, rebalance)
    why = _rebalance_why(rebalance, ends)
    runs = [t.run for t in triggers] + [a.run for a in rebalance.arrivals] + [end.run for end in ends]
    moved = sorted({partition for _, partition, _ in (*rebalance.gained, *rebalance.lost)})
    first = rebalance.arrivals[0]
    return Finding(
        kind=Kind.REBALANCE,
        group=group.name,
        members=tuple(dict.fromkeys(run.name for run in runs)),
        partitions=tuple(moved),
        began=rebalance.began,
        ended=rebalance.ended,
        brief=f"epoch {rebalance.epoch}: {why}",
        sentence=f"Epoch {rebalance.epoch}: {why}; {_moves(rebalance)}{_took(rebalance)}.",
        evidence=(
            *(trigger.run.evidence(trigger.entry, trigger.text) for trigger in triggers),
            *(end.run.evidence(end.entry, "perhaps the reason: its last step in the group") for end in ends),
            first.run.evidence(first.entry, f"reaches epoch {rebalance.epoch}"),
        ),
        advice="Nothing: this is how a group works.",
        certainty=_certainty(rebalance),
    )


def _certainty(rebalance: GroupRebalance) -> Certainty:
    if not rebalance.triggers:
        return "unknown"
    return "certain" if any(trigger.sure for trigger in rebalance.triggers) else "likely"


def _rebalance_why(rebalance: GroupRebalance, ends: list[SilentEnd]) -> str:
    if rebalance.triggers:
        return joined(dict.fromkeys(trigger.text for trigger in rebalance.triggers))
    if not ends:
        return f"why is unknown: perhaps it was {_UNTRACED}"
    names = listed(dict.fromkeys(end.run.name for end in ends), "or")
    return f"why is unknown: perhaps it was {names}, which was killed or fenced, {_UNTRACED}"


def _moves(rebalance: GroupRebalance) -> str:
    """The partitions that each member got; of partitions that no traced member got, which member gave them up."""
    gains: dict[str, list[TopicPartition]] = {}
    for run, partition, _ in rebalance.gained:
        gains.setdefault(run.name, []).append(partition)
    losses: dict[str, list[TopicPartition]] = {}
    for run, partition, _ in rebalance.given_up:
        losses.setdefault(run.name, []).append(partition)
    said = [f"{name} got {partitions_text(partitions)}" for name, partitions in gains.items()]
    said += [f"{name} gave up {partitions_text(partitions)}" for name, partitions in losses.items()]
    return ", ".join(said) or "no partition moved"


def _took(rebalance: GroupRebalance) -> str:
    if not rebalance.gained and not rebalance.lost:
        return ""
    give_or_take = f" (give or take {lasting(rebalance.uncertainty_s)})" if rebalance.uncertainty_s else ""
    return f", within {lasting(rebalance.lasted_s)}{give_or_take}"


# --- UNOWNED_PARTITION -----------------------------------------------------------------------------------------------


_LONG_S = 10.0
_LONG_AWAY_S = 60.0
"""A static member that leaves temporarily keeps its partitions for a session, and then until the others hear of it."""


def unowned_partition(group: Group) -> list[Finding]:
    """One finding for all partitions that lost their owner at the same moment."""
    found: dict[tuple[str, float], list[UnownedPeriod]] = defaultdict(list)
    for period in unowned_periods_of(group):
        if _unowned_matters(group, period):
            found[period.before.member_id, period.held.ended.at].append(period)
    return [_unowned_finding(group, periods) for periods in found.values()]


def _unowned_matters(group: Group, period: UnownedPeriod) -> bool:
    doubt_s = max(group.skew_s, period.uncertainty_s)
    if period.lasted_s <= doubt_s + _LONG_S:
        return False
    if period.lasted_s <= doubt_s + _LONG_AWAY_S and _member_away(group, period) is not None:
        return False
    if period.ending is MembershipEnd.OPEN:
        return ended_without_close(group, period.before)
    if has_untraced_members(group):
        return period.after is not None and _assigns_slowly(period)
    if period.after is None:
        # Revoked, and not assigned to a traced member: its owner has no trace, or its topic was deleted.
        return period.ending in LOST
    return period.ending in LOST or _another_was_there(group, period)


def _member_away(group: Group, period: UnownedPeriod) -> MemberRun | None:
    """A static member that left temporarily: the group kept its place, and may have assigned it more partitions."""
    for run in group.runs:
        for membership in run.memberships:
            left = membership.last.time
            forgotten = group.clearly_before(left + _LONG_AWAY_S, period.began)
            if (
                membership.ending is MembershipEnd.AWAY
                and not forgotten
                and not group.clearly_before(period.until, left)
            ):
                return run
    return None


def _another_was_there(group: Group, period: UnownedPeriod) -> bool:
    """Was another member in the group all the time? A group that was shut down has no unowned partitions."""
    return any(
        group.clearly_before(membership.first.time, period.began) and _lasted(group, run, membership, period.until)
        for run in group.runs
        for membership in run.memberships
    )


def _lasted(group: Group, run: MemberRun, membership: Membership, until: float) -> bool:
    """One that its trace leaves open went on, unless the process ended: its next line would be that of the next heartbeat."""
    goes_on = membership.ending is MembershipEnd.OPEN and not ended_without_close(group, run)
    return goes_on or membership.last.time >= until


def _unowned_finding(group: Group, periods: list[UnownedPeriod]) -> Finding:
    longest = max(periods, key=lambda period: period.lasted_s)
    partitions = tuple(sorted({period.partition for period in periods}))
    up_to = "up to " if len({period.until for period in periods}) > 1 else ""
    still = "" if longest.after else ", and has none where the traces end"
    return Finding(
        kind=Kind.UNOWNED_PARTITION,
        group=group.name,
        members=tuple(run.name for run in (_holds_up(group, longest), longest.before) if run is not None),
        partitions=partitions,
        began=longest.began,
        ended=longest.until,
        brief=f"{partitions_text(partitions)} had no owner for {up_to}{lasting(longest.lasted_s)} from {second(longest.began)}",
        sentence=(
            f"{partitions_text(partitions)} had no owner that the traces know for {up_to}{lasting(longest.lasted_s)}{still}: "
            f"{_unowned_why(group, longest)}."
        ),
        evidence=_unowned_evidence(longest),
        advice=(
            "Mend the cause. Records wait meanwhile; a shorter session timeout (the group's consumer.session.timeout.ms; "
            "classic: session.timeout.ms) bounds how long the group waits for a member that does not come back."
        ),
        certainty="likely",
    )


def _unowned_why(group: Group, period: UnownedPeriod) -> str:
    name, ending = period.before.name, period.ending
    if ending is MembershipEnd.OPEN:
        return f"{name} ended without leaving, and the group waited for its session to end"
    if ending in LOST or ending is MembershipEnd.AWAY:
        return f"{name} {ending.value}"
    if period.after is not None and _assigns_slowly(period):
        return f"the assigned callback of {period.after.name} was slow"
    if (slow := _holds_up(group, period)) is not None:
        return f"the group waited for the revoked callback of {slow.name}"
    if (away := _member_away(group, period)) is not None:
        return f"{name} had given it up, and {away.name}, which was away, may have been meant to get it"
    return f"{name} had given it up; why no member took it is unknown"


def _holds_up(group: Group, period: UnownedPeriod) -> MemberRun | None:
    """The member for whose revoked callback a classic group waited for most of it: it assigns nothing until all have joined."""
    if not period.before.is_classic or period.ending is not None:
        return None
    for run in group.runs:
        for call in run.calls:
            spent_s = min(call.last.time, period.until) - max(call.wanted.time, period.began)
            if call.kind is CallbackKind.REVOKED and run is not period.before and spent_s > period.lasted_s / 2:
                return run
    return None


def _assigns_slowly(period: UnownedPeriod) -> bool:
    """Was the next owner busy with an assigned callback for most of it, by its own clock?"""
    if period.after is None or period.taken is None:
        return False
    ended_at = period.taken.began.at
    assigns = (call for call in period.after.calls if call.kind is CallbackKind.ASSIGNED)
    spent_s = (min(call.last.at, ended_at) - max(call.wanted.at, ended_at - period.lasted_s) for call in assigns)
    return any(seconds > period.lasted_s / 2 for seconds in spent_s)


def _unowned_evidence(period: UnownedPeriod) -> tuple[Evidence, ...]:
    said = "is the last line of its owner" if period.ending is MembershipEnd.OPEN else f"gives up {period.partition}"
    found = period.before.evidence(period.held.ended, said)
    if period.after is None or period.taken is None:
        return (found,)
    return found, period.after.evidence(period.taken.began, f"owns {period.partition}")
