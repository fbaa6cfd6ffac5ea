"""One entry of a trace as a value: what happened to a member at one moment, and where that is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from membership_client.core.events import Effect, Event
from membership_client.core.member import Member
from membership_client.debugger.model.checking import check_time_of_day
from membership_client.debugger.model.decoding import decoded, reading
from membership_client.errors import Problem
from membership_client.partition_text import numbers_of
from membership_client.trace.reading import Section
from membership_client.trace.values import Json, decode
from membership_client.types import MemberState, TopicPartition

_Effect = TypeVar("_Effect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """State, epoch, owned and problem are those after it. A note changes nothing and has no event."""

    path: Path
    line: int
    opens: bool
    """The first of its section: whatever happened just before may stand in a file that is missing."""
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
class Standing:
    """What a moment hands on to the next."""

    state: MemberState
    epoch: int
    owned: frozenset[TopicPartition]
    problem: Problem | None


def standing_of(start: Member) -> Standing:
    return Standing(start.state, start.epoch, frozenset(start.owned.named(start.names)), start.problem)


def moments_of(section: Section, start: Member) -> Iterator[Moment]:
    """In the order they were written."""
    standing, offset_s = standing_of(start), _first_offset_s(section)
    for line, entry in enumerate(section.entries, section.line + 1):
        with reading(section, line):
            offset_s += entry.get("jumped", 0.0)
            moment = _moment(section, line, entry, standing, offset_s)
            check_time_of_day(moment.time)
        standing = Standing(moment.state, moment.epoch, moment.owned, moment.problem)
        yield moment


def _first_offset_s(section: Section) -> float:
    """What turns the member's clock into time of day; the header of a trace that was saved later is the last to know."""
    header, entries = section.header, section.entries
    saved_later = header["at"] > entries[-1]["at"]
    jumps_s = sum(entry.get("jumped", 0.0) for entry in entries) if saved_later else 0.0
    return float(header["wall"] - header["at"] - jumps_s)


def _moment(section: Section, line: int, entry: dict[str, Json], before: Standing, offset_s: float) -> Moment:
    is_note = "note" in entry
    after = before if is_note else _after(section, line, entry, before)
    return Moment(
        path=section.path,
        line=line,
        opens=line == section.line + 1,
        at=float(entry["at"]),
        time=float(entry["at"]) + offset_s,
        state_before=before.state,
        state=after.state,
        epoch_before=before.epoch,
        epoch=after.epoch,
        event=None if is_note else decoded(section, line, Event, entry["event"]),
        effects=tuple(decoded(section, line, Effect, effect) for effect in entry.get("effects", ())),
        cause=None if is_note or "cause" not in entry else str(entry["cause"]),
        owned_before=before.owned,
        owned=after.owned,
        problem_before=before.problem,
        problem=after.problem,
        late_s=decode(float, entry.get("late", 0.0)),
        cpu_s=decode(float, entry["cpu"]) if "cpu" in entry else None,
        jumped_s=decode(float, entry.get("jumped", 0.0)),
        note=str(entry["note"]) if is_note else None,
        facts=entry if is_note else {},
    )


def _after(section: Section, line: int, entry: dict[str, Json], before: Standing) -> Standing:
    owned = _owned(entry["owned"]) if "owned" in entry else before.owned
    problem = before.problem
    if "problem" in entry:
        problem = decoded(section, line, Problem, entry["problem"]) if entry["problem"] else None
    state = decoded(section, line, MemberState, entry["state"])
    return Standing(state, decoded(section, line, int, entry["epoch"]), owned, problem)


def _owned(shown: Mapping[str, str]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for topic, text in shown.items() for number in numbers_of(text))
