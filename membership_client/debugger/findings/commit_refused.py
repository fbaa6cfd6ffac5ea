"""COMMIT_REFUSED: a commit came after the partition was others'."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import counted
from membership_client.errors import NotOwnedError

_TOGETHER_S = 30.0
_SHOWN = 3


def commit_refused(group: Group) -> list[Finding]:
    return [_finding(life, notes) for life in group.lives for notes in _episodes(life)]


def _episodes(life: Life) -> list[list[Moment]]:
    found: list[list[Moment]] = []
    for note in life.notes:
        if note.note != "commit refused" or note.facts.get("error") != NotOwnedError.__name__:
            continue
        if found and note.at - found[-1][-1].at < _TOGETHER_S:
            found[-1].append(note)
        else:
            found.append([note])
    return found


def _finding(life: Life, notes: list[Moment]) -> Finding:
    times = f"{len(notes)} commits of {life.name} were" if len(notes) > 1 else f"A commit of {life.name} was"
    detail = str(notes[0].facts.get("detail", ""))
    loss = next((step for step in reversed(life.steps) if step.at <= notes[0].at and _loses(step)), None)
    lost = [life.evidence(loss, f"it owns {counted(len(loss.owned), 'partition')} from here on")] if loss else []
    refused = [life.evidence(note, f"commit refused: {note.facts.get('detail', '')}") for note in notes[:_SHOWN]]
    return Finding(
        kind=Kind.COMMIT_REFUSED,
        group=life.group,
        members=(life.name,),
        began=notes[0].time,
        ended=notes[-1].time,
        sentence=f"{times} refused, because the partition was no longer its own: {detail}",
        evidence=(*lost, *refused),
        advice="Drop that work: the new owner repeats it. Commit in on_revoke, which is the last moment to do so.",
    )


def _loses(step: Moment) -> bool:
    return bool(step.owned_before - step.owned)
