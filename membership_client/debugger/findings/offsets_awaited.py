"""WAITED_FOR_OFFSETS: partitions were assigned, and where to start reading them was not to be had."""

from __future__ import annotations

from membership_client.core.events import CallbackDelayed
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting, partitions_text

_SHOWN = 3


def offsets_awaited(group: Group) -> list[Finding]:
    return [_finding(run, call) for run in group.runs for call in run.calls if call.delays]


def _finding(run: MemberRun, call: CallbackRecord) -> Finding:
    event = call.delays[-1].event
    assert isinstance(event, CallbackDelayed)
    began_at = call.last.at if call.began_at is None else call.began_at
    waited = lasting(max(0.0, began_at - event.since))
    end = f"waited {waited}" if call.returned else f"still waited after {waited}, when the trace ends,"
    told = (run.evidence(entry, "the assigned callback cannot begin") for entry in call.delays[:_SHOWN])
    return Finding(
        kind=Kind.WAITED_FOR_OFFSETS,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(call.partitions)),
        began=call.wanted.time,
        ended=call.last.time,
        sentence=f"The records of {partitions_text(call.partitions)} {end} because {run.name} waited for {event.why}.",
        evidence=(run.evidence(call.wanted, "the assigned callback is wanted"), *told),
        advice=_ADVICE,
    )


_ADVICE = (
    "End the transaction, or lower transaction.timeout.ms of its producer; if the coordinator does not answer, look at that "
    "broker. The member goes on by itself when the offsets can be had."
)
