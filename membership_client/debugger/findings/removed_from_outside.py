"""REMOVED_FROM_OUTSIDE: a member that was on time with everything was thrown out all the same."""

from __future__ import annotations

from membership_client.debugger.fences import Fence, Why
from membership_client.debugger.finding import Finding, Kind
from membership_client.debugger.life import Life
from membership_client.debugger.timeline import Group
from membership_client.debugger.words import lasting


def removed_from_outside(group: Group) -> list[Finding]:
    return [_finding(life, fence) for life in group.lives for fence in life.fences if fence.why is Why.OUTSIDE]


def _finding(life: Life, fence: Fence) -> Finding:
    confirmed = fence.confirmed
    assert confirmed is not None
    ago = lasting(fence.moment.at - confirmed.at)
    return Finding(
        kind=Kind.REMOVED_FROM_OUTSIDE,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(fence.moment.owned_before)),
        began=fence.moment.time,
        ended=fence.moment.time,
        sentence=(
            f"{life.name} was thrown out although it was on time: the coordinator had counted on it {ago} before. "
            "Somebody removed it, or the coordinator forgot it; who and why is unknown to the client."
        ),
        evidence=(
            life.evidence(confirmed, "the coordinator counts on it"),
            life.evidence(fence.moment, fence.said),
        ),
        advice="The reason is in the log of the coordinator only; look there for the member id at that time.",
        certainty="likely",
    )
