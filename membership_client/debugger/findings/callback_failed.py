"""CALLBACK_FAILED: the application's callback raised."""

from __future__ import annotations

from collections import defaultdict

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.calls import Call
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group

_CONSEQUENCE = {
    "raise": "a failed assign is tried again, and the partitions are not consumed meanwhile",
    "leave": "the member leaves the group",
    "continue": "the member goes on as if nothing had happened",
}


def callback_failed(group: Group) -> list[Finding]:
    return [finding for life in group.lives for finding in _of(life)]


def _of(life: Life) -> list[Finding]:
    """One per callback and error, however often it was tried."""
    failed: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in life.calls:
        if call.error is not None:
            failed[call.kind.value, call.error].append(call)
    return [_finding(life, calls) for calls in failed.values()]


def _finding(life: Life, calls: list[Call]) -> Finding:
    first, last = calls[0], calls[-1]
    times = f" {len(calls)} times" if len(calls) > 1 else ""
    policy = life.start.config.callback_errors
    return Finding(
        kind=Kind.CALLBACK_FAILED,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted({partition for call in calls for partition in call.partitions})),
        began=first.last.time,
        ended=last.last.time,
        sentence=f"The {first.kind.value} callback of {life.name} raised {first.error}{times}.",
        evidence=tuple(life.evidence(call.last, f"the {call.kind.value} callback raised") for call in calls[:3]),
        advice=f"Mend the callback. callback_errors is {policy}: {_CONSEQUENCE[policy]}.",
    )
