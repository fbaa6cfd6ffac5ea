"""Notes that tell what a thread was doing, as evidence."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Evidence
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import lasting
from membership_client.trace.values import Json

_MOST_PLACES = 6


def evidence_of_stack(run: MemberRun, note: TraceEntry) -> list[Evidence]:
    """Of a warning, or of the records in hand; nothing of other notes."""
    facts = note.facts
    if note.note == "in hand":
        return [run.evidence(note, f"in hand: {', '.join(_texts(facts.get('records')))}")]
    if note.note != "warning":
        return []
    stack = " < ".join(_texts(facts.get("stack"))[:_MOST_PLACES])
    where = f"; thread {facts.get('thread')} is at {stack}" if stack else ""
    return [run.evidence(note, f"{_seconds(facts.get('spent'))} of {_seconds(facts.get('limit'))} are gone{where}")]


def _texts(shown: Json) -> list[str]:
    """A note is free to say anything."""
    return [str(part) for part in shown] if isinstance(shown, list) else []


def _seconds(shown: Json) -> str:
    return lasting(shown) if isinstance(shown, float | int) else "some"


def stacks_between(run: MemberRun, began_at: float, ended_at: float, budget: str) -> list[Evidence]:
    """What was noted of that budget in that time, by the member's clock."""
    return [
        line
        for note in run.notes
        if began_at <= note.at <= ended_at and (note.note == "in hand" or note.facts.get("budget") == budget)
        for line in evidence_of_stack(run, note)
    ]
