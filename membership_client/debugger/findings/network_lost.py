"""NETWORK_LOST: the member worked all the time, and no broker answered it."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.fences import Fence, FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.outages import Outage, failure_text
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting

_LONG_S = 15.0
"""An outage of this length is worth a line also where the session survived it."""


def network_lost(group: Group) -> list[Finding]:
    return [_finding(run, outage) for run in group.runs for outage in run.outages if _matters(run, outage)]


def _matters(run: MemberRun, outage: Outage) -> bool:
    return outage.lasted_s >= _LONG_S or _fence(run, outage) is not None


def _fence(run: MemberRun, outage: Outage) -> Fence | None:
    found = (fence for fence in run.fences if fence.why is FenceCause.CUT_OFF)
    return next((fence for fence in found if fence.outage is not None and fence.outage.first is outage.first), None)


def _finding(run: MemberRun, outage: Outage) -> Finding:
    fence, failures = _fence(run, outage), outage.failures
    if fence is not None:
        outcome = "its session ended meanwhile, and the coordinator fenced it"
    else:
        outcome = "then it was answered again" if outage.end else "and the trace ends so"
    shown = failures[:2] if len(failures) < 3 else (*failures[:2], failures[-1])
    fenced = [run.evidence(fence.entry, fence.said)] if fence else []
    return Finding(
        kind=Kind.NETWORK_LOST,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(outage.first.owned)),
        began=outage.first.time,
        ended=outage.last.time,
        sentence=f"{run.name} worked, but no broker answered it for {lasting(outage.lasted_s)}; {outcome}.",
        evidence=(*(run.evidence(step, failure_text(step) or "") for step in shown), *fenced),
        advice="Look at the network between this machine and the brokers at that time, and at the broker it spoke to.",
        certainty="certain" if len(failures) > 1 else "likely",
    )
