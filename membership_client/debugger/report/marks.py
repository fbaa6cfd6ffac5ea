"""What is worth a mark in a member's lane: fences, failures, warnings, leaves, trouble with brokers."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.core.events import Warn
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.report.content import Mark, MarkKind
from membership_client.trace.values import Json
from membership_client.types import MemberState

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
    # A note of a warning has the stack too; the bare effect is for runs that noted none.
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
    """Sums of commits that went well are no news."""
    if note.note == "commits":
        return None
    kind = _NOTED.get(note.note or "", "note")
    facts = {key: value for key, value in note.facts.items() if key not in {"at", "note"} and value is not None}
    return Mark(note.time, kind, note.note or "", "\n".join(f"{key}: {_fact(value)}" for key, value in facts.items()))


def _fact(value: Json) -> str:
    if isinstance(value, list):
        return "\n".join(["", *(f"  {part}" for part in value)])
    return f"{value:.3g}" if isinstance(value, float) else str(value)
