"""WAITED_FOR_CALLBACK and WAITED_FOR_POLL: partitions that could not move because an application was slow."""

from __future__ import annotations

from membership_client.core.events import CallbackKind
from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.fences import FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.stacks import evidence_of_stack
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting, partitions_text
from membership_client.types import TopicPartition

_SHORTEST_S = 1.0


def slow_callbacks(group: Group) -> list[Finding]:
    return [_finding(run, call) for run in group.runs for call in run.calls if _is_slow(run, call)]


def _is_slow(run: MemberRun, call: CallbackRecord) -> bool:
    """Longer than a heartbeat interval: other members hear of it no sooner. No member waits for a lost callback."""
    if call.delays:
        return False  # Not for the application, but for committed offsets: see offsets_awaited.
    waited_for = call.kind is not CallbackKind.LOST and bool(_held(run, call))
    return waited_for and call.lasted_s > max(_SHORTEST_S, run.interval_s)


def _held(run: MemberRun, call: CallbackRecord) -> tuple[TopicPartition, ...]:
    """Its partitions; if it had none, the partitions of the next callback, which waited for it."""
    following = (later for later in run.calls if later.wanted is call.last)
    return call.partitions or next((later.partitions for later in following), ())


def _finding(run: MemberRun, call: CallbackRecord) -> Finding:
    for_poll = call.waited_s > call.ran_s
    return Finding(
        kind=Kind.WAITED_FOR_POLL if for_poll else Kind.WAITED_FOR_CALLBACK,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(_held(run, call))),
        began=call.wanted.time,
        ended=call.last.time,
        sentence=_poll_sentence(run, call) if for_poll else _sentence(run, call),
        evidence=_evidence(run, call),
        advice=_POLL_ADVICE if for_poll else _ADVICE[call.kind],
        certainty="certain" if call.returned and not (for_poll and call.kind is CallbackKind.ASSIGNED) else "likely",
    )


def _sentence(run: MemberRun, call: CallbackRecord) -> str:
    thread = f" on thread {call.thread}" if call.thread else ""
    end = "took" if call.returned else "had not returned after"
    return (
        f"{_who_waited(run, call)} waited for the {call.kind.value} callback of {run.name}, "
        f"which {end} {lasting(call.lasted_s)}{thread}{_outcome(run, call)}."
    )


def _poll_sentence(run: MemberRun, call: CallbackRecord) -> str:
    return (
        f"{_who_waited(run, call)} waited for {run.name} to poll: its {call.kind.value} callback was wanted and began "
        f"{lasting(call.waited_s)} later, because {_BUSY[call.kind]}{_outcome(run, call)}."
    )


def _who_waited(run: MemberRun, call: CallbackRecord) -> str:
    held = partitions_text(_held(run, call))
    return f"The next owner of {held}" if call.kind is CallbackKind.REVOKED else f"The records of {held}"


def _outcome(run: MemberRun, call: CallbackRecord) -> str:
    fences = (fence for fence in run.fences if fence.why is FenceCause.CALLBACK and fence.call is not None)
    fenced = any(fence.call is not None and fence.call.call_id == call.call_id for fence in fences)
    return "; the coordinator waited no longer and fenced it" if fenced else ""


def _evidence(run: MemberRun, call: CallbackRecord) -> tuple[Evidence, ...]:
    partitions = partitions_text(call.partitions) if call.partitions else "an empty share"
    found = [run.evidence(call.wanted, f"the {call.kind.value} callback is wanted for {partitions}")]
    found += [line for warning in call.warnings for line in evidence_of_stack(run, warning)]
    end = "it returned" if call.returned else "it had not returned when the trace ends"
    return (*found, run.evidence(call.last, end))


_BUSY = {
    CallbackKind.REVOKED: "the handler was busy",
    CallbackKind.ASSIGNED: "the handler was busy, or its committed offsets were not to be had (an open transaction)",
}
_ADVICE = {
    CallbackKind.REVOKED: "Do less in the revoked callback: commit, and leave the rest to the new owner; or flush as you go.",
    CallbackKind.ASSIGNED: "Do less in the assigned callback, or load state after it has returned.",
}
_POLL_ADVICE = (
    "Poll more often, or wrap long work in consumer.hold() and stop early when consumer.revoke_pending() says so; "
    "a lower max.poll.interval.ms bounds how long the others wait."
)
