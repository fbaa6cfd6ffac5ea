"""NETWORK_LOST: the member worked all the time, and nobody answered it."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.fences import Fence, Why
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.outages import Outage, failure_text
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting

_LONG_S = 15.0
"""An outage of this length is worth a line also where the session survived it."""


def network_lost(group: Group) -> list[Finding]:
    return [_finding(life, outage) for life in group.lives for outage in life.outages if _matters(life, outage)]


def _matters(life: Life, outage: Outage) -> bool:
    return outage.lasted_s >= _LONG_S or _fence(life, outage) is not None


def _fence(life: Life, outage: Outage) -> Fence | None:
    found = (fence for fence in life.fences if fence.why is Why.CUT_OFF)
    return next((fence for fence in found if fence.outage is not None and fence.outage.first is outage.first), None)


def _finding(life: Life, outage: Outage) -> Finding:
    fence, failures = _fence(life, outage), outage.failures
    if fence is not None:
        outcome = "its session ended meanwhile, and the group threw it out"
    else:
        outcome = "then it was answered again" if outage.end else "and the trace ends so"
    shown = failures[:2] if len(failures) < 3 else (*failures[:2], failures[-1])
    thrown_out = [life.evidence(fence.moment, fence.said)] if fence else []
    return Finding(
        kind=Kind.NETWORK_LOST,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(outage.first.owned)),
        began=outage.first.time,
        ended=outage.last.time,
        sentence=f"{life.name} worked, but nobody answered it for {lasting(outage.lasted_s)}; {outcome}.",
        evidence=(*(life.evidence(step, failure_text(step) or "") for step in shown), *thrown_out),
        advice="Look at the network between this machine and the brokers at that time, and at the broker it spoke to.",
        certainty="certain" if len(failures) > 1 else "likely",
    )
