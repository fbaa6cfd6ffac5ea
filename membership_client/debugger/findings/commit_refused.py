"""COMMIT_REFUSED: a commit came after the partition was others'."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import counted
from membership_client.errors import NotOwnedError

_TOGETHER_S = 30.0
_SHOWN = 3


def commit_refused(group: Group) -> list[Finding]:
    return [_finding(run, notes) for run in group.runs for notes in _episodes(run)]


def _episodes(run: MemberRun) -> list[list[TraceEntry]]:
    found: list[list[TraceEntry]] = []
    for note in run.notes:
        if note.note != "commit refused" or note.facts.get("error") != NotOwnedError.__name__:
            continue
        if found and note.at - found[-1][-1].at < _TOGETHER_S:
            found[-1].append(note)
        else:
            found.append([note])
    return found


def _finding(run: MemberRun, notes: list[TraceEntry]) -> Finding:
    times = f"{len(notes)} commits of {run.name} were" if len(notes) > 1 else f"A commit of {run.name} was"
    detail = str(notes[0].facts.get("detail", ""))
    loss = next((step for step in reversed(run.steps) if step.at <= notes[0].at and _loses(step)), None)
    lost = [run.evidence(loss, f"it owns {counted(len(loss.owned), 'partition')} from here on")] if loss else []
    refused = [run.evidence(note, f"commit refused: {note.facts.get('detail', '')}") for note in notes[:_SHOWN]]
    return Finding(
        kind=Kind.COMMIT_REFUSED,
        group=run.group,
        members=(run.name,),
        began=notes[0].time,
        ended=notes[-1].time,
        sentence=f"{times} refused, because the partition was no longer its own: {detail}",
        evidence=(*lost, *refused),
        advice="Drop that work: the new owner repeats it. Commit in on_revoke, which is the last moment to do so.",
    )


def _loses(step: TraceEntry) -> bool:
    return bool(step.owned_before - step.owned)
