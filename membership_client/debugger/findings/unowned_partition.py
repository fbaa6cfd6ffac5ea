"""UNOWNED_PARTITION: partitions without an owner for a while, although the group had members."""

from __future__ import annotations

from collections import defaultdict

from membership_client.core.events import CallbackKind
from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import LOST, MembershipEnd
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.model.unowned import UnownedPeriod, unowned_periods_of
from membership_client.debugger.words import lasting, partitions_text

_LONG_S = 10.0
_LONG_AWAY_S = 60.0
"""A static member that leaves temporarily keeps its partitions for a session, and then until the others hear of it."""


def unowned_partition(group: Group) -> list[Finding]:
    """One finding for all partitions that lost their owner at the same moment."""
    found: dict[tuple[str, float], list[UnownedPeriod]] = defaultdict(list)
    for period in unowned_periods_of(group):
        if _matters(group, period):
            found[period.before.member_id, period.held.ended.at].append(period)
    return [_finding(group, periods) for periods in found.values()]


def _matters(group: Group, period: UnownedPeriod) -> bool:
    if period.lasted_s <= group.skew_s + _LONG_S:
        return False
    if period.lasted_s <= group.skew_s + _LONG_AWAY_S and _member_away(group, period) is not None:
        return False
    if period.ending is MembershipEnd.OPEN:
        return ended_without_close(group, period.before)
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
    memberships = (membership for run in group.runs for membership in run.memberships)
    return any(
        group.clearly_before(membership.first.time, period.began) and membership.last.time >= period.until
        for membership in memberships
    )


def _finding(group: Group, periods: list[UnownedPeriod]) -> Finding:
    longest = max(periods, key=lambda period: period.lasted_s)
    partitions = tuple(sorted({period.partition for period in periods}))
    up_to = "up to " if len({period.until for period in periods}) > 1 else ""
    still = "" if longest.after else ", and has none where the traces end"
    return Finding(
        kind=Kind.UNOWNED_PARTITION,
        group=group.name,
        members=(longest.before.name,),
        partitions=partitions,
        began=longest.began,
        ended=longest.until,
        sentence=(
            f"{partitions_text(partitions)} had no owner that the traces know for {up_to}{lasting(longest.lasted_s)}{still}: "
            f"{_why(group, longest)}."
        ),
        evidence=_evidence(longest),
        advice=(
            "Mend the cause. Records wait meanwhile; a shorter session timeout (the group's consumer.session.timeout.ms; "
            "classic: session.timeout.ms) bounds how long the group waits for a member that does not come back."
        ),
        certainty="likely",
    )


def _why(group: Group, period: UnownedPeriod) -> str:
    name, ending = period.before.name, period.ending
    if ending is MembershipEnd.OPEN:
        return f"{name} ended without leaving, and the group waited for its session to end"
    if ending in LOST or ending is MembershipEnd.AWAY:
        return f"{name} {ending.value}"
    if period.after is not None and _assigns_slowly(period):
        return f"the assigned callback of {period.after.name} was slow"
    if (away := _member_away(group, period)) is not None:
        return f"{name} had given it up, and {away.name}, which was away, may have been meant to get it"
    return f"{name} had given it up; why no member took it is unknown"


def _assigns_slowly(period: UnownedPeriod) -> bool:
    """Was the next owner busy with an assigned callback for most of it, by its own clock?"""
    if period.after is None or period.taken is None:
        return False
    ended_at = period.taken.began.at
    assigns = (call for call in period.after.calls if call.kind is CallbackKind.ASSIGNED)
    spent_s = (min(call.last.at, ended_at) - max(call.wanted.at, ended_at - period.lasted_s) for call in assigns)
    return any(seconds > period.lasted_s / 2 for seconds in spent_s)


def _evidence(period: UnownedPeriod) -> tuple[Evidence, ...]:
    said = "is the last line of its owner" if period.ending is MembershipEnd.OPEN else f"gives up {period.partition}"
    found = period.before.evidence(period.held.ended, said)
    if period.after is None or period.taken is None:
        return (found,)
    return found, period.after.evidence(period.taken.began, f"owns {period.partition}")
