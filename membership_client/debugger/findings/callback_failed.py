"""CALLBACK_FAILED: the application's callback raised."""

from __future__ import annotations

from collections import defaultdict

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group

_CONSEQUENCE = {
    "raise": "a failed assign is tried again, and the partitions are not consumed meanwhile",
    "leave": "the member leaves the group",
    "continue": "the member goes on as if nothing had happened",
}


def callback_failed(group: Group) -> list[Finding]:
    return [finding for run in group.runs for finding in _of(run)]


def _of(run: MemberRun) -> list[Finding]:
    """One per callback and error, however often it was tried."""
    failed: dict[tuple[str, str], list[CallbackRecord]] = defaultdict(list)
    for call in run.calls:
        if call.error is not None:
            failed[call.kind.value, call.error].append(call)
    return [_finding(run, calls) for calls in failed.values()]


def _finding(run: MemberRun, calls: list[CallbackRecord]) -> Finding:
    first, last = calls[0], calls[-1]
    times = f" {len(calls)} times" if len(calls) > 1 else ""
    policy = run.start.config.callback_errors
    return Finding(
        kind=Kind.CALLBACK_FAILED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted({partition for call in calls for partition in call.partitions})),
        began=first.last.time,
        ended=last.last.time,
        sentence=f"The {first.kind.value} callback of {run.name} raised {first.error}{times}.",
        evidence=tuple(run.evidence(call.last, f"the {call.kind.value} callback raised") for call in calls[:3]),
        advice=f"Mend the callback. callback_errors is {policy}: {_CONSEQUENCE[policy]}.",
    )
