"""POISON_RECORD: one record that outlasts the poll interval of one member after the other, each time it comes back."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.findings.slow import evidence_of_stack
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import joined, lasting, second
from membership_client.types import MemberState

_TIMES = 2


@dataclass(frozen=True, slots=True)
class _Case:
    """A member left the group because it did not poll, with the record in hand."""

    run: MemberRun
    left: TraceEntry
    note: TraceEntry
    """Which records were in hand."""


def poison_record(group: Group) -> list[Finding]:
    """Only for records that more than one member had: one member alone may be slow for other reasons."""
    found: dict[str, list[_Case]] = defaultdict(list)
    for run in group.runs:
        for step in run.steps:
            if step.state is MemberState.STALE and step.state_before is not MemberState.STALE:
                for record, case in _in_hand(run, step).items():
                    found[record].append(case)
    return [
        _finding(group, record, sorted(cases, key=lambda case: case.left.time))
        for record, cases in found.items()
        if len({case.run.name for case in cases}) >= _TIMES
    ]


def _in_hand(run: MemberRun, left: TraceEntry) -> dict[str, _Case]:
    """By record, such as `orders-2@17`."""
    since = left.at - run.poll_interval_s - 1.0
    notes = (note for note in run.notes if note.note == "in hand" and since <= note.at <= left.at)
    shown = ((note, note.facts.get("records")) for note in notes)
    return {
        str(text).partition(" (")[0]: _Case(run, left, note)
        for note, records in shown
        if isinstance(records, list)
        for text in records
    }


def _finding(group: Group, record: str, cases: list[_Case]) -> Finding:
    names = list(dict.fromkeys(case.run.name for case in cases))
    interval_s = max(case.run.poll_interval_s for case in cases)
    first, last = cases[0], cases[-1]
    back = next((step for step in last.run.steps if step.at > last.left.at), None)
    return Finding(
        kind=Kind.POISON_RECORD,
        group=group.name,
        members=tuple(names),
        began=first.left.time - first.run.poll_interval_s,
        ended=back.time if back else last.run.ended,
        brief=f"record {record} outlasted the poll interval of {joined(names)}, first at {second(first.left.time)}",
        sentence=(
            f"Record {record} took longer than the poll interval of {lasting(interval_s)}, {len(cases)} times: {joined(names)} "
            "had it in hand one after the other, and left the group each time."
        ),
        evidence=tuple(line for case in cases[:4] for line in _evidence(case)),
        advice=(
            "Look at that record and at the function that works on it. Until then skip it, or wrap the work in consumer.hold(): "
            "each member that gets it leaves the group, and none commits it."
        ),
    )


def _evidence(case: _Case) -> list[Evidence]:
    return [
        *evidence_of_stack(case.run, case.note),
        case.run.evidence(case.left, "left: the poll interval was exceeded"),
    ]
