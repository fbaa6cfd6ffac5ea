"""WAITED_FOR_CALLBACK, WAITED_FOR_POLL, WAITED_FOR_OFFSETS, SLOW_CLOSE and POLL_INTERVAL_EXCEEDED: an application was slow."""

from __future__ import annotations

from membership_client.core.events import Budget, CallbackDelayed, CallbackKind, Close
from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.fences import FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import OwnedPeriod
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import lasting, listed, partitions_text, second
from membership_client.trace.values import Json, encode
from membership_client.types import MemberState, TopicPartition

_SHORTEST_S = 1.0
"""What takes less is never slow."""


# --- WAITED_FOR_CALLBACK and WAITED_FOR_POLL -------------------------------------------------------------------------


def slow_callbacks(group: Group) -> list[Finding]:
    return [
        _callback_finding(group, run, call)
        for run in group.runs
        for call in run.calls
        if _callback_is_slow(run, call) and _is_waited_for(group, run, call)
    ]


def _callback_is_slow(run: MemberRun, call: CallbackRecord) -> bool:
    """Longer than a heartbeat interval: other members hear of a revoke with their next heartbeat. No member waits for a lost callback."""
    if call.delays:
        return False  # It waited for committed offsets, and not for the application: see offsets_awaited.
    waited_for = call.kind is not CallbackKind.LOST and bool(_held(run, call))
    return waited_for and call.lasted_s > max(_SHORTEST_S, run.interval_s)


def _is_waited_for(group: Group, run: MemberRun, call: CallbackRecord) -> bool:
    """Not if a member that closes gave its partitions back, and no member took them: only the close was slow then."""
    closes = run.closing is not None and run.closing.at <= call.wanted.at
    return not closes or call.kind is not CallbackKind.REVOKED or bool(_next_owners(group, run, call))


def _held(run: MemberRun, call: CallbackRecord) -> tuple[TopicPartition, ...]:
    """Its partitions; if it had none, the partitions of the next callback, which waited for it."""
    following = (later for later in run.calls if later.wanted is call.last)
    return call.partitions or next((later.partitions for later in following), ())


def _callback_finding(group: Group, run: MemberRun, call: CallbackRecord) -> Finding:
    for_poll = run.polls and call.waited_s > call.ran_s
    return Finding(
        kind=Kind.WAITED_FOR_POLL if for_poll else Kind.WAITED_FOR_CALLBACK,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(_held(run, call))),
        began=call.wanted.time,
        ended=call.last.time,
        brief=_brief(run, call, for_poll=for_poll),
        sentence=_poll_sentence(group, run, call) if for_poll else _callback_sentence(group, run, call),
        evidence=_evidence(run, call),
        advice=_POLL_ADVICE if for_poll else _CALLBACK_ADVICE[call.kind],
        certainty="certain" if call.returned and not (for_poll and call.kind is CallbackKind.ASSIGNED) else "likely",
    )


def _brief(run: MemberRun, call: CallbackRecord, *, for_poll: bool) -> str:
    held, began = partitions_text(_held(run, call)), second(call.wanted.time)
    if for_poll:
        return f"{held} waited {lasting(call.waited_s)} for {run.name} to poll, from {began}"
    return f"the {call.kind.value} callback of {run.name} took {lasting(call.lasted_s)} from {began}"


def _callback_sentence(group: Group, run: MemberRun, call: CallbackRecord) -> str:
    thread = f" on thread {call.thread}" if call.thread else ""
    end = "took" if call.returned else "had not returned after"
    return (
        f"{_waiting(group, run, call)} waited for the {call.kind.value} callback of {run.name}, "
        f"which {end} {lasting(call.lasted_s)}{thread}{_outcome(group, run, call)}."
    )


def _poll_sentence(group: Group, run: MemberRun, call: CallbackRecord) -> str:
    return (
        f"{_waiting(group, run, call)} waited for {run.name} to poll: its {call.kind.value} callback was wanted and began "
        f"{lasting(call.waited_s)} later, because {_BUSY[call.kind]}{_outcome(group, run, call)}."
    )


def _waiting(group: Group, run: MemberRun, call: CallbackRecord) -> str:
    held = partitions_text(_held(run, call))
    if call.kind is not CallbackKind.REVOKED:
        return f"The records of {held}"
    return f"The next owner of {held}" if _next_owners(group, run, call) else held


def _next_owners(group: Group, run: MemberRun, call: CallbackRecord) -> list[tuple[MemberRun, OwnedPeriod]]:
    """The other runs that got its partitions after it was wanted; the first one first."""
    held = frozenset(_held(run, call))
    found = [
        (other, period)
        for other in group.runs
        for period in other.owned_periods
        if other is not run and period.partition in held and period.began.time > call.wanted.time
    ]
    return sorted(found, key=lambda each: (each[1].began.time, each[1].partition))


def _outcome(group: Group, run: MemberRun, call: CallbackRecord) -> str:
    return _fenced(run, call) + _not_waited_for(group, run, call)


def _not_waited_for(group: Group, run: MemberRun, call: CallbackRecord) -> str:
    """The member that got a partition while the callback was still running."""
    if call.kind is not CallbackKind.REVOKED:
        return ""
    for other, period in _next_owners(group, run, call):
        if period.began.time < call.last.time - run.uncertainty_s(other, period.began.time, call.last.time):
            after = lasting(period.began.time - call.wanted.time)
            return f"; the group did not wait for its end: {other.name} got {period.partition} after {after}"
    return ""


def _fenced(run: MemberRun, call: CallbackRecord) -> str:
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
    CallbackKind.ASSIGNED: "the handler was busy, or the committed offsets could not be read (an open transaction)",
}
_CALLBACK_ADVICE = {
    CallbackKind.REVOKED: "Do less in the revoked callback: commit, and leave the rest to the new owner; or flush as you go.",
    CallbackKind.ASSIGNED: "Do less in the assigned callback, or load state after it has returned.",
}
_POLL_ADVICE = (
    "Poll more often, or wrap long work in consumer.hold() and stop early when consumer.revoke_pending() says so; "
    "a lower max.poll.interval.ms bounds how long the others wait."
)


# --- WAITED_FOR_OFFSETS ----------------------------------------------------------------------------------------------


_SHOWN = 3


def offsets_awaited(group: Group) -> list[Finding]:
    return [_offsets_finding(run, call) for run in group.runs for call in run.calls if call.delays]


def _offsets_finding(run: MemberRun, call: CallbackRecord) -> Finding:
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
        brief=f"{run.name} waited {waited} for committed offsets from {second(call.wanted.time)}",
        sentence=f"The records of {partitions_text(call.partitions)} {end} because {run.name} waited for {event.why}.",
        evidence=(run.evidence(call.wanted, "the assigned callback is wanted"), *told),
        advice=_OFFSETS_ADVICE,
    )


_OFFSETS_ADVICE = (
    "End the transaction, or lower transaction.timeout.ms of its producer; if the coordinator does not answer, look at that "
    "broker. The member continues by itself when it can read the offsets."
)


# --- SLOW_CLOSE ------------------------------------------------------------------------------------------------------


_SLOW = 0.5
"""Share of the time limit from which a close counts as slow; the member itself warns at the same share."""


def slow_close(group: Group) -> list[Finding]:
    return [finding for run in group.runs if (finding := _close_finding(run)) is not None]


def _close_finding(run: MemberRun) -> Finding | None:
    began = run.closing
    if began is None or not isinstance(began.event, Close):
        return None
    ended = run.stop or run.entries[-1]
    sentence = _close_sentence(run, began.event, began, ended)
    if sentence is None:
        return None
    told = stacks_between(run, began.at, ended.at, encode(Budget.CLOSE))
    end = "closed" if run.stop else "the trace ends, and it is not closed"
    return Finding(
        kind=Kind.SLOW_CLOSE,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(began.owned_before)),
        began=began.time,
        ended=ended.time,
        brief=f"the close of {run.name} was slow at {second(began.time)}",
        sentence=sentence,
        evidence=(run.evidence(began, "close() is called"), *told, run.evidence(ended, end)),
        advice=(
            "Mend what close() waited for, or give it a longer timeout. A member that cannot say that it leaves keeps its "
            "partitions until its session ends."
        ),
    )


def _close_sentence(run: MemberRun, close: Close, began: TraceEntry, ended: TraceEntry) -> str | None:
    """None if the close was quick."""
    took_s = ended.at - began.at
    calls = [call for call in run.calls if call.last.at > began.at and call.wanted.at <= ended.at]
    spent = sorted(((_spent_s(call, began), call) for call in calls), key=lambda each: each[0])
    if close.callback_timeout_s is not None:
        return _with_callbacks_apart(run, close, began, ended, spent)
    if not _close_is_slow(took_s, close.timeout_s):
        return None
    blamed = spent[-1][1] if spent and spent[-1][0] > took_s / 2 else None
    because = f", because its {blamed.kind.value} callback {_ran(blamed)}" if blamed else _cause(run, began, ended)
    return f"The close of {run.name} took {lasting(took_s)} of its {lasting(close.timeout_s)}{because}."


def _with_callbacks_apart(
    run: MemberRun, close: Close, began: TraceEntry, ended: TraceEntry, spent: list[tuple[float, CallbackRecord]]
) -> str | None:
    """The sentence about a close whose callbacks have a limit of their own and do not count against its timeout."""
    own_s = ended.at - began.at - sum(seconds for seconds, _ in spent)
    if _close_is_slow(own_s, close.timeout_s):
        of = f"{lasting(own_s)} of its {lasting(close.timeout_s)}"
        return f"The close of {run.name} took {of}, callbacks not counted{_cause(run, began, ended)}."
    limit_s = max(close.timeout_s, close.callback_timeout_s or 0.0)
    if not spent or not _close_is_slow(spent[-1][0], limit_s):
        return None
    seconds, slowest = spent[-1]
    waited = f"{lasting(seconds)} of at most {lasting(limit_s)}"
    return f"The close of {run.name} waited {waited} for its {slowest.kind.value} callback, which {_ran(slowest)}."


def _close_is_slow(took_s: float, limit_s: float) -> bool:
    return took_s >= max(_SHORTEST_S, _SLOW * limit_s)


def _spent_s(call: CallbackRecord, began: TraceEntry) -> float:
    """How long the close waited for the callback, which may have begun before the close."""
    return call.last.at - max(call.wanted.at, began.at)


def _cause(run: MemberRun, began: TraceEntry, ended: TraceEntry) -> str:
    if any(outage.first.at <= ended.at and outage.last.at >= began.at for outage in run.outages):
        return ", because the coordinator did not answer"
    return "; the trace does not tell why"


def _ran(call: CallbackRecord) -> str:
    return f"took {lasting(call.lasted_s)}" if call.returned else "did not return"


# --- POLL_INTERVAL_EXCEEDED ------------------------------------------------------------------------------------------


def poll_interval_exceeded(group: Group) -> list[Finding]:
    return [_stale_finding(run, step) for run in group.runs for step in run.steps if _is_stale(step)]


def _is_stale(step: TraceEntry) -> bool:
    return step.state is MemberState.STALE and step.state_before is not MemberState.STALE


def _stale_finding(run: MemberRun, step: TraceEntry) -> Finding:
    interval_s = run.poll_interval_s
    told = stacks_between(run, step.at - interval_s - 1.0, step.at, encode(Budget.POLL))
    in_hand = _records_in_hand(run, step.at - interval_s - 1.0, step.at)
    record = f", with {listed(in_hand)} in hand" if in_hand else ""
    back = next((later for later in run.steps if later.at > step.at and later.state is not MemberState.STALE), None)
    again = f" It polled again {lasting(back.at - step.at)} later." if back else " It did not poll again in this trace."
    return Finding(
        kind=Kind.POLL_INTERVAL_EXCEEDED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(step.owned_before)),
        began=step.time - interval_s,
        ended=back.time if back else run.ended,
        brief=f"{run.name} did not poll for {lasting(interval_s)}, and left the group at {second(step.time)}",
        sentence=f"{run.name} did not poll for {lasting(interval_s)}{record}, and therefore left the group.{again}",
        evidence=(*told, run.evidence(step, f"left: the poll interval of {lasting(interval_s)} was exceeded")),
        advice="Wrap long work in consumer.hold(), hand it to another thread, or raise max.poll.interval.ms.",
    )


def _records_in_hand(run: MemberRun, began_at: float, ended_at: float) -> list[str]:
    """Of the first note about them, such as `orders-2@17`: one that several functions have is noted with each of them."""
    notes = (
        note.facts.get("records") for note in run.notes if note.note == "in hand" and began_at <= note.at <= ended_at
    )
    return list(dict.fromkeys(text.partition(" (")[0] for text in _texts(next(notes, None))))


# --- what a thread was doing -----------------------------------------------------------------------------------------


_MOST_PLACES = 6


def evidence_of_stack(run: MemberRun, note: TraceEntry) -> list[Evidence]:
    """Evidence from a warning, or from a note of the records in hand; no evidence from other notes."""
    facts = note.facts
    if note.note == "in hand":
        return [run.evidence(note, f"in hand: {', '.join(_texts(facts.get('records')))}")]
    if note.note not in {"warning", "stack"}:
        return []
    stack = " < ".join(_texts(facts.get("stack"))[:_MOST_PLACES])
    where = f"; thread {facts.get('thread')} is at {stack}" if stack else ""
    spent = _seconds(facts.get("spent"))
    gone = (
        f"{spent} of {_seconds(facts.get('limit'))} are gone"
        if note.note == "warning"
        else f"it has waited or run for {spent}"
    )
    return [run.evidence(note, f"{gone}{where}")]


def _texts(shown: Json) -> list[str]:
    """Any shape is possible, because a note can hold any JSON."""
    return [str(part) for part in shown] if isinstance(shown, list) else []


def _seconds(shown: Json) -> str:
    return lasting(shown) if isinstance(shown, float | int) else "some"


def stacks_between(run: MemberRun, began_at: float, ended_at: float, budget: str) -> list[Evidence]:
    """Evidence from the notes about that budget, and about records in hand, between two times of the member's clock."""
    return [
        line
        for note in run.notes
        if began_at <= note.at <= ended_at and (note.note == "in hand" or note.facts.get("budget") == budget)
        for line in evidence_of_stack(run, note)
    ]
