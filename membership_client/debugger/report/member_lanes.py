"""The lanes of a group's members: which runs share a lane, their states, callbacks and marks, and how long each was there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from membership_client.core.events import RunCallback, Warn
from membership_client.core.member import TRANSITIONS
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.silences import Outage, Silence, failure_text
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.report.content import CallSpan, Mark, MarkKind, MemberLane, StateSpan, Stretch
from membership_client.trace.values import Json
from membership_client.types import MemberState

# --- how long a member was there -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Presence:
    until: float
    """Its close; or the end of all traces, if it may have gone on; or the last entry of its trace."""
    vanished: bool
    """Its trace stops without a close, and something shows that it should have gone on."""


def presence_of(run: MemberRun, group: Group) -> Presence:
    if run.stop is not None:
        return Presence(run.stop.time, vanished=False)
    if ended_without_close(group, run):
        return Presence(run.ended, vanished=True)
    # A trace that was saved from memory does not show what came after.
    return Presence(run.ended if run.saved else group.until, vanished=False)


# --- states ----------------------------------------------------------------------------------------------------------


def states_of(run: MemberRun, until: float) -> Iterator[StateSpan]:
    began, state, reason = run.began, run.entries[0].state_before, "its state when the trace began"
    for step in run.steps:
        if step.state is state:
            continue
        if step.time > began:
            yield StateSpan(began, step.time, state, reason)
        began, state, reason = step.time, step.state, _reason(step)
    if run.stop is None or until > began:
        yield StateSpan(began, max(until, began), state, reason)


def _reason(step: TraceEntry) -> str:
    known = TRANSITIONS.get((step.state_before, step.state))
    if known is not None and (step.cause or "").startswith(known):
        known = None
    problem = step.problem.detail if step.problem is not None and step.problem is not step.problem_before else None
    return "\n".join(dict.fromkeys(filter(None, (known, step.cause, problem))))


# --- lanes -----------------------------------------------------------------------------------------------------------


def lanes_of(group: Group) -> list[list[MemberRun]]:
    """Runs of one name that followed each other are together: a static member that was restarted stays one lane."""
    lanes: list[list[MemberRun]] = []
    for run in group.runs:
        free = (lane for lane in lanes if lane[0].name == run.name and lane[-1].ended <= run.began)
        lane = next(free, None)
        if lane is None:
            lanes.append([run])
        else:
            lane.append(run)
    return sorted(lanes, key=lambda lane: (lane[0].name, lane[0].began))


def member_lane(runs: Sequence[MemberRun], presences: Mapping[MemberRun, Presence], *, alone: bool) -> MemberLane:
    """`alone`: no other lane has this name."""
    first, ends = runs[0], _ends(runs, presences)
    return MemberLane(
        name=first.name,
        label=first.name if alone else f"{first.name} ({first.host}:{first.pid})",
        group=first.group,
        details=tuple(detail for run in runs for detail in _details(run)),
        states=tuple(span for run, end in zip(runs, ends, strict=True) for span in states_of(run, end)),
        calls=tuple(_call_span(call) for run in runs for call in run.calls),
        stretches=tuple(stretch for run in runs for stretch in stretches_of(run)),
        marks=tuple(mark for run in runs for mark in marks_of(run, vanishes=presences[run].vanished)),
    )


def _ends(runs: Sequence[MemberRun], presences: Mapping[MemberRun, Presence]) -> list[float]:
    """A run is over at the latest when the next one of its lane begins."""
    nexts = [run.began for run in runs[1:]] + [float("inf")]
    return [min(presences[run].until, following) for run, following in zip(runs, nexts, strict=True)]


def _details(run: MemberRun) -> list[tuple[str, str]]:
    named = [("instance id", run.instance_id)] if run.instance_id else []
    return [*named, ("member id", run.member_id), ("where", run.where), ("steps", str(len(run.steps)))]


def _call_span(call: CallbackRecord) -> CallSpan:
    offset_s = call.wanted.time - call.wanted.at
    began = call.wanted.at if call.began_at is None else call.began_at
    return CallSpan(
        wanted=call.wanted.time,
        began=began + offset_s if call.returned else None,
        ended=call.last.time,
        kind=call.kind.value,
        partitions=call.partitions,
        cause=cause_of(call),
        error=call.error,
    )


def cause_of(call: CallbackRecord) -> str:
    return next(str(effect.cause) for effect in call.wanted.effects_of(RunCallback) if effect.call_id == call.call_id)


def stretches_of(run: MemberRun) -> Iterator[Stretch]:
    for silence in run.silences:
        if not silence.awaited:
            yield Stretch(silence.before.time, silence.after.time, "silent", _stood_still(silence))
    for outage in run.outages:
        yield Stretch(outage.since(run.silences).time, outage.last.time, "unanswered", _unanswered(outage))


def _stood_still(silence: Silence) -> str:
    return (
        f"Its next step came {silence.late_s:.1f} s later than it was due. "
        f"The process used {silence.cpu_s:.1f} s of processor time meanwhile."
    )


def _unanswered(outage: Outage) -> str:
    first, count = failure_text(outage.first) or "", len(outage.failures)
    return first if count == 1 else f"{first}\nand {count - 1} more until a heartbeat was answered"


# --- marks -----------------------------------------------------------------------------------------------------------


_ENTERED: dict[MemberState, tuple[MarkKind, str]] = {
    MemberState.FENCED: ("fence", "fenced"),
    MemberState.STALE: ("fence", "out of the group: the application did not poll"),
    MemberState.FATAL: ("fatal", "ended by an error"),
    MemberState.LEAVING: ("leave", "leaves"),
}

_NOTED: dict[str, MarkKind] = {"warning": "warning", "commit refused": "failure"}


def marks_of(run: MemberRun, *, vanishes: bool) -> tuple[Mark, ...]:
    found = [mark for step in run.steps for mark in _of_step(step)]
    found += [_of_failed(call) for call in run.calls if call.error is not None]
    noted = [mark for note in run.notes if (mark := _of_note(note)) is not None]
    # A note of a warning also has the stack; the effect is used for runs that have no such note.
    if not any(mark.kind == "warning" for mark in noted):
        found += [mark for step in run.steps for mark in _warnings(step)]
    if vanishes:
        text = "No close, no leave: the process was killed or stopped, or the rest of its trace is missing."
        noted.append(Mark(run.ended, "end", "the trace ends here", text))
    return tuple(sorted(found + noted, key=lambda mark: mark.at))


def _of_step(step: TraceEntry) -> Iterator[Mark]:
    if step.state is not step.state_before and step.state in _ENTERED:
        kind, headline = _ENTERED[step.state]
        problem = step.problem.detail if step.problem and step.state is MemberState.FATAL else None
        yield Mark(step.time, kind, headline, problem or step.cause or "")
    elif step.problem is not None and step.problem != step.problem_before:
        yield Mark(step.time, "problem", step.problem.kind.value, step.problem.detail)


def _of_failed(call: CallbackRecord) -> Mark:
    return Mark(call.last.time, "failure", f"the {call.kind.value} callback raised", call.error or "")


def _warnings(step: TraceEntry) -> Iterator[Mark]:
    for warn in step.effects_of(Warn):
        text = f"{warn.spent_s:.3g} s of {warn.limit_s:.3g} s are gone."
        yield Mark(step.time, "warning", f"{warn.budget.value} takes long", text)


def _of_note(note: TraceEntry) -> Mark | None:
    """None for the counts of successful commits."""
    if note.note == "commits":
        return None
    kind = _NOTED.get(note.note or "", "note")
    facts = {key: value for key, value in note.facts.items() if key not in {"at", "note"} and value is not None}
    return Mark(note.time, kind, note.note or "", "\n".join(f"{key}: {_fact(value)}" for key, value in facts.items()))


def _fact(value: Json) -> str:
    if isinstance(value, list):
        return "\n".join(["", *(f"  {part}" for part in value)])
    return f"{value:.3g}" if isinstance(value, float) else str(value)
