"""One entry of a trace as a value: what happened to a member, and where that is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from membership_client.core.events import Effect, Event
from membership_client.core.member import Member
from membership_client.debugger.model.decoding import check_time_of_day, decoded, reading
from membership_client.errors import Problem
from membership_client.partitions import numbers_of
from membership_client.trace.reading import Section
from membership_client.trace.values import Json, decode
from membership_client.types import MemberState, TopicPartition

_Effect = TypeVar("_Effect")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEntry:
    """State, epoch, owned and problem are those after it. A note changes nothing and has no event."""

    path: Path
    line: int
    opens: bool
    """The first entry of its section. Entries just before it may be in a file that is missing."""
    at: float
    """The member's own monotonic clock."""
    time: float
    """Time of day by its machine's clock."""
    state_before: MemberState
    state: MemberState
    epoch_before: int
    epoch: int
    event: Event | None = None
    effects: tuple[Effect, ...] = ()
    cause: str | None = None
    owned_before: frozenset[TopicPartition]
    owned: frozenset[TopicPartition]
    problem_before: Problem | None
    problem: Problem | None
    late_s: float = 0.0
    cpu_s: float | None = None
    jumped_s: float = 0.0
    """By how much the time of day went ahead of the member's clock just before: the machine slept, or its clock was set."""
    note: str | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)
    """What a note says."""

    @property
    def is_step(self) -> bool:
        return self.note is None

    def effects_of(self, kind: type[_Effect]) -> list[_Effect]:
        return [effect for effect in self.effects if isinstance(effect, kind)]


@dataclass(frozen=True, slots=True)
class MemberStanding:
    """The state of the member after an entry, from which the next entry starts."""

    state: MemberState
    epoch: int
    owned: frozenset[TopicPartition]
    problem: Problem | None


def standing_of(start: Member) -> MemberStanding:
    return MemberStanding(start.state, start.epoch, frozenset(start.owned.named(start.names)), start.problem)


def entries_of(section: Section, start: Member) -> Iterator[TraceEntry]:
    """In the order they were written."""
    standing, offset_s = standing_of(start), _first_offset_s(section)
    for line, shown in enumerate(section.entries, section.line + 1):
        with reading(section, line):
            offset_s += shown.get("jumped", 0.0)
            entry = _entry(section, line, shown, standing, offset_s)
            check_time_of_day(entry.time)
        standing = MemberStanding(entry.state, entry.epoch, entry.owned, entry.problem)
        yield entry


def _first_offset_s(section: Section) -> float:
    """What to add to the member's clock to get the time of day at the first entry.

    The header of a trace that was saved later has the difference of its end, so the jumps in between are taken off.
    """
    header, entries = section.header, section.entries
    saved_later = header["at"] > entries[-1]["at"]
    jumps_s = sum(shown.get("jumped", 0.0) for shown in entries) if saved_later else 0.0
    return float(header["wall"] - header["at"] - jumps_s)


def _entry(section: Section, line: int, shown: dict[str, Json], before: MemberStanding, offset_s: float) -> TraceEntry:
    is_note = "note" in shown
    after = before if is_note else _after(section, line, shown, before)
    return TraceEntry(
        path=section.path,
        line=line,
        opens=line == section.line + 1,
        at=float(shown["at"]),
        time=float(shown["at"]) + offset_s,
        state_before=before.state,
        state=after.state,
        epoch_before=before.epoch,
        epoch=after.epoch,
        event=None if is_note else decoded(section, line, Event, shown["event"]),
        effects=tuple(decoded(section, line, Effect, effect) for effect in shown.get("effects", ())),
        cause=None if is_note or "cause" not in shown else str(shown["cause"]),
        owned_before=before.owned,
        owned=after.owned,
        problem_before=before.problem,
        problem=after.problem,
        late_s=decode(float, shown.get("late", 0.0)),
        cpu_s=decode(float, shown["cpu"]) if "cpu" in shown else None,
        jumped_s=decode(float, shown.get("jumped", 0.0)),
        note=str(shown["note"]) if is_note else None,
        facts=shown if is_note else {},
    )


def _after(section: Section, line: int, shown: dict[str, Json], before: MemberStanding) -> MemberStanding:
    owned = _owned(shown["owned"]) if "owned" in shown else before.owned
    problem = before.problem
    if "problem" in shown:
        problem = decoded(section, line, Problem, shown["problem"]) if shown["problem"] else None
    state = decoded(section, line, MemberState, shown["state"])
    return MemberStanding(state, decoded(section, line, int, shown["epoch"]), owned, problem)


def _owned(shown: Mapping[str, str]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for topic, text in shown.items() for number in numbers_of(text))
