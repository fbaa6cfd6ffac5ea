"""UNOWNED_PARTITION: partitions that nobody read for a while, although somebody should have."""

from __future__ import annotations

from collections import defaultdict

from membership_client.core.events import CallbackKind
from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.deaths import just_ends
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.memberships import LOST, Ending
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned import Void, voids_of
from membership_client.debugger.words import lasting, partitions_text

_LONG_S = 10.0
_LONG_AWAY_S = 60.0
"""A static member that leaves for a while is meant to keep its place, for a session and until the others hear of it."""


def unowned_partition(group: Group) -> list[Finding]:
    """One finding for all partitions that lost their owner at the same moment."""
    found: dict[tuple[str, float], list[Void]] = defaultdict(list)
    for void in voids_of(group):
        if _matters(group, void):
            found[void.before.member_id, void.held.ended.at].append(void)
    return [_finding(group, voids) for voids in found.values()]


def _matters(group: Group, void: Void) -> bool:
    if void.lasted_s <= group.skew_s + _LONG_S:
        return False
    if void.lasted_s <= group.skew_s + _LONG_AWAY_S and _who_was_away(group, void) is not None:
        return False
    if void.ending is Ending.OPEN:
        return just_ends(group, void.before)
    if void.after is None:
        # Given up in peace and taken by nobody: it is with a member that has no trace, or its topic is gone.
        return void.ending in LOST
    return void.ending in LOST or _somebody_was_there(group, void)


def _who_was_away(group: Group, void: Void) -> Life | None:
    """A static member that kept its place in the group while nobody was behind it, and may have been given more."""
    for life in group.lives:
        for stay in life.stays:
            left = stay.last.time
            forgotten = group.clearly_before(left + _LONG_AWAY_S, void.began)
            if stay.ending is Ending.AWAY and not forgotten and not group.clearly_before(void.until, left):
                return life
    return None


def _somebody_was_there(group: Group, void: Void) -> bool:
    """A group that was shut down has nobody to blame."""
    stays = (stay for life in group.lives for stay in life.stays)
    return any(group.clearly_before(stay.first.time, void.began) and stay.last.time >= void.until for stay in stays)


def _finding(group: Group, voids: list[Void]) -> Finding:
    longest = max(voids, key=lambda void: void.lasted_s)
    partitions = tuple(sorted({void.partition for void in voids}))
    up_to = "up to " if len({void.until for void in voids}) > 1 else ""
    nobody = "" if longest.after else ", and has none where the traces end"
    return Finding(
        kind=Kind.UNOWNED_PARTITION,
        group=group.name,
        members=(longest.before.name,),
        partitions=partitions,
        began=longest.began,
        ended=longest.until,
        sentence=(
            f"{partitions_text(partitions)} had no owner that the traces know for {up_to}{lasting(longest.lasted_s)}{nobody}: "
            f"{_why(group, longest)}."
        ),
        evidence=_evidence(longest),
        advice=(
            "See to the cause. Records wait meanwhile; a shorter session timeout (the group's consumer.session.timeout.ms; "
            "classic: session.timeout.ms) bounds how long the group waits for who does not come back."
        ),
        certainty="likely",
    )


def _why(group: Group, void: Void) -> str:
    name, ending = void.before.name, void.ending
    if ending is Ending.OPEN:
        return f"{name} ended without leaving, and the group waited for its session to end"
    if ending in LOST or ending is Ending.AWAY:
        return f"{name} {ending.value}"
    if void.after is not None and _assigns_slowly(void):
        return f"the assigned callback of {void.after.name} took its time"
    if (away := _who_was_away(group, void)) is not None:
        return f"{name} had given it up, and {away.name}, which was away, may have been meant to get it"
    return f"{name} had given it up, and why nobody took it is unknown"


def _assigns_slowly(void: Void) -> bool:
    """Was the next owner busy with an assigned callback for most of it, by its own clock?"""
    if void.after is None or void.taken is None:
        return False
    ended_at = void.taken.began.at
    assigns = (call for call in void.after.calls if call.kind is CallbackKind.ASSIGNED)
    spent_s = (min(call.last.at, ended_at) - max(call.wanted.at, ended_at - void.lasted_s) for call in assigns)
    return any(seconds > void.lasted_s / 2 for seconds in spent_s)


def _evidence(void: Void) -> tuple[Evidence, ...]:
    said = "is the last line of its owner" if void.ending is Ending.OPEN else f"gives up {void.partition}"
    found = void.before.evidence(void.held.ended, said)
    if void.after is None or void.taken is None:
        return (found,)
    return found, void.after.evidence(void.taken.began, f"owns {void.partition}")
