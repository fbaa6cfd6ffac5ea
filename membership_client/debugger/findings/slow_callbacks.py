"""WAITED_FOR_CALLBACK and WAITED_FOR_POLL: partitions that could not move because an application took its time."""

from __future__ import annotations

from membership_client.core.events import CallbackKind
from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.calls import Call
from membership_client.debugger.model.fences import Why
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.stacks import evidence_of_stack
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting, partitions_text
from membership_client.types import TopicPartition

_SHORTEST_S = 1.0


def slow_callbacks(group: Group) -> list[Finding]:
    return [_finding(life, call) for life in group.lives for call in life.calls if _is_slow(life, call)]


def _is_slow(life: Life, call: Call) -> bool:
    """Longer than a heartbeat interval: before that, the others do not even hear of it. Nobody waits for a lost one."""
    if call.delays:
        return False  # Not for the application, but for committed offsets: see offsets_awaited.
    waited_for = call.kind is not CallbackKind.LOST and bool(_held(life, call))
    return waited_for and call.lasted_s > max(_SHORTEST_S, life.interval_s)


def _held(life: Life, call: Call) -> tuple[TopicPartition, ...]:
    """Its partitions; those of the next callback, which waited for it, if it was told of an empty share."""
    following = (later for later in life.calls if later.wanted is call.last)
    return call.partitions or next((later.partitions for later in following), ())


def _finding(life: Life, call: Call) -> Finding:
    for_poll = call.waited_s > call.ran_s
    return Finding(
        kind=Kind.WAITED_FOR_POLL if for_poll else Kind.WAITED_FOR_CALLBACK,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(_held(life, call))),
        began=call.wanted.time,
        ended=call.last.time,
        sentence=_poll_sentence(life, call) if for_poll else _sentence(life, call),
        evidence=_evidence(life, call),
        advice=_POLL_ADVICE if for_poll else _ADVICE[call.kind],
        certainty="certain" if call.returned and not (for_poll and call.kind is CallbackKind.ASSIGNED) else "likely",
    )


def _sentence(life: Life, call: Call) -> str:
    thread = f" on thread {call.thread}" if call.thread else ""
    end = "took" if call.returned else "had not returned after"
    return (
        f"{_whoever(life, call)} waited for the {call.kind.value} callback of {life.name}, "
        f"which {end} {lasting(call.lasted_s)}{thread}{_outcome(life, call)}."
    )


def _poll_sentence(life: Life, call: Call) -> str:
    return (
        f"{_whoever(life, call)} waited for {life.name} to poll: its {call.kind.value} callback was wanted and began "
        f"{lasting(call.waited_s)} later, because {_BUSY[call.kind]}{_outcome(life, call)}."
    )


def _whoever(life: Life, call: Call) -> str:
    held = partitions_text(_held(life, call))
    return f"Whoever was to get {held}" if call.kind is CallbackKind.REVOKED else f"The records of {held}"


def _outcome(life: Life, call: Call) -> str:
    fences = (fence for fence in life.fences if fence.why is Why.CALLBACK and fence.call is not None)
    thrown_out = any(fence.call is not None and fence.call.call_id == call.call_id for fence in fences)
    return "; the group lost its patience and threw it out" if thrown_out else ""


def _evidence(life: Life, call: Call) -> tuple[Evidence, ...]:
    partitions = partitions_text(call.partitions) if call.partitions else "an empty share"
    found = [life.evidence(call.wanted, f"the {call.kind.value} callback is wanted for {partitions}")]
    found += [line for warning in call.warnings for line in evidence_of_stack(life, warning)]
    end = "it returned" if call.returned else "it had not returned when the trace ends"
    return (*found, life.evidence(call.last, end))


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
