"""THROWN_OUT: a member that the group did not count on any longer, and the traces do not tell why."""

from __future__ import annotations

from membership_client.debugger.fences import Fence, Why
from membership_client.debugger.finding import Finding, Kind
from membership_client.debugger.life import Life
from membership_client.debugger.timeline import Group


def thrown_out(group: Group) -> list[Finding]:
    return [_finding(life, fence) for life in group.lives for fence in life.fences if fence.why is Why.UNKNOWN]


def _finding(life: Life, fence: Fence) -> Finding:
    counted_on = [life.evidence(fence.confirmed, "the coordinator counts on it")] if fence.confirmed else []
    return Finding(
        kind=Kind.THROWN_OUT,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(fence.moment.owned_before)),
        began=fence.moment.time,
        ended=fence.moment.time,
        sentence=(
            f"{life.name} was thrown out ({fence.said}). Its trace shows no standstill, outage or callback that explains it, "
            "so what made the coordinator do so is unknown."
        ),
        evidence=(*counted_on, life.evidence(fence.moment, fence.said)),
        advice="Look into the log of the coordinator for the member id at that time.",
        certainty="unknown",
    )
