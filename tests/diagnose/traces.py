"""Traces of played and simulated members: real steps through a real journal."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from membership_client.core.events import Effect, Event, Heartbeat, Polled
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.trace import Journal, Section
from membership_client.trace.reading import read_trace
from membership_client.trace.trace_file import TraceFile
from membership_client.trace.values import Json
from tests.core.classic_play import ClassicPlay
from tests.core.play import Play, accepted, config
from tests.simulation.play import play
from tests.simulation.script import Action, Plan, Script

EPOCH_S = 1_800_000_000.0


class Kept(TraceFile):
    """A file in memory: a journal itself keeps only the newest entries there."""

    def __init__(self) -> None:
        self._path = Path("kept")
        self._lines: list[str] = []
        self.flush: Callable[[], bool] = lambda: True

    @property
    def lines(self) -> list[str]:
        """All that was recorded so far, also what the journal's thread has still to write."""
        assert self.flush()
        return self._lines

    def begin(self, header: str) -> None:
        self._lines.append(header)

    def write(self, line: str) -> bool:
        self._lines.append(line)
        return False

    def close(self) -> None:
        pass


@dataclass
class Recorded(Play):
    """A member played by hand, with everything it does in a journal; the play's clock is that of the machine."""

    kept: Kept = field(default_factory=Kept)
    cpu_s: float = 1.0
    """Of its process, so far."""
    slept_s: float = 0.0
    """Of its machine, so far; its own clock does not count that."""
    journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        with self.clock():
            self.journal = Journal(self.member, self.kept)
        self.kept.flush = self.journal.flush

    @classmethod
    def named(cls, member_id: str, *, now: float = 1000.0, **overrides: object) -> Recorded:
        return cls(Member(config=config(**overrides), member_id=member_id), now=now)

    def owning(self, *numbers: int) -> Recorded:
        self.stable(*numbers)
        return self

    def clock(self) -> contextlib.AbstractContextManager[object]:
        clocks = {"monotonic": self.now, "time": EPOCH_S + self.now + self.slept_s, "process_time": self.cpu_s}
        shown = {name: mock.Mock(return_value=value) for name, value in clocks.items()}
        return mock.patch.multiple("membership_client.trace.journal.time", **shown)

    def do(self, event: Event) -> list[Effect]:
        before = self.member
        effects = super().do(event)
        with self.clock():
            self.journal.on_step(Step(self.now, before, event, tuple(effects), self.member))
        return effects

    def note(self, kind: str, **facts: Json) -> None:
        with self.clock():
            self.journal.note(kind, **facts)

    def stays_stable(self, seconds: float) -> Recorded:
        """Heartbeats go on, and bring no news."""
        ends_at = self.now + seconds
        while self.now < ends_at:
            self.advance(min(1.0, ends_at - self.now))
            if self.member.dialogue is not None:
                self.answer(Heartbeat, accepted(self.member.epoch))
        return self

    def polls(self) -> Recorded:
        self.do(Polled(self.now))
        return self

    def section(self, path: str = "a.jsonl", *, torn: bool = False) -> Section:
        return replace(section_of(self.kept.lines, path, host=self.member.member_id, pid=7), torn=torn)


class RecordedClassic(Recorded, ClassicPlay):
    """A member of a classic group."""


def section_of(lines: Iterable[str], path: str, **header: Json) -> Section:
    """As the reader gives it, with another process in its header if one is given."""
    first, *rest = (json.loads(line) for line in lines)
    return Section(Path(path), 1, {**first, **header}, rest)


def sections_of(script: Script) -> list[Section]:
    """One for each run of each simulated process, which is called as its member id and `:7`."""
    lives: list[tuple[str, list[Step]]] = []
    current: dict[str, list[Step]] = {}
    for _, who, entry in play(script).record.entries:
        if not isinstance(entry, Step):
            continue
        if who not in current or current[who][-1].after is not entry.before:
            current[who] = []
            lives.append((who, current[who]))
        current[who].append(entry)
    return [_section(who, steps) for who, steps in lives]


def _section(who: str, steps: list[Step]) -> Section:
    section = section_of(lines_of(steps), f"{who}.jsonl", host=who, pid=7, wall=EPOCH_S, at=0.0)
    del section.header["start"]["config"]["client_id"]
    return section


def lines_of(steps: list[Step]) -> list[str]:
    kept = Kept()
    journal = Journal(steps[0].before, kept)
    for taken in steps:
        journal.on_step(taken)
    journal.close()
    return kept.lines


def script(plans: list[Plan], actions: list[Action], *, calm_at: float = 20.0, **settings: Any) -> Script:
    """On a network without surprises, with quick callbacks and one topic of six partitions."""
    return Script(
        seed=0,
        topics=(("orders", 6),),
        plans=tuple(plans),
        actions=tuple(actions),
        calm_at=calm_at,
        settings=CoordinatorSettings(assignment_interval_s=0.0, **settings),
        latency_s=(0.001, 0.001),
        callback_s=(0.0, 0.0),
        stays=False,
    )


def plan(name: str, **wishes: Any) -> Plan:
    return Plan(name=name, topics=frozenset({"orders"}), **wishes)


def the(kind: Kind, findings: Iterable[Finding]) -> Finding:
    """The one finding of that kind."""
    (found,) = [finding for finding in findings if finding.kind is kind]
    return found


def faults(sections: list[Section], skew_s: float = 2.0) -> list[Finding]:
    return [finding for finding in diagnose(sections, skew_s) if finding.kind.is_fault]


def kinds(findings: Iterable[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def shifted(section: Section, seconds: float) -> Section:
    """As if the machine's clock were fast by so much."""
    return replace(section, header={**section.header, "wall": section.header["wall"] + seconds})


def written(sections: Iterable[Section], folder: Path) -> list[Path]:
    """As files, one for each run."""
    paths = []
    for number, section in enumerate(sections):
        path = folder / f"{number}-{section.path.name}"
        path.write_text("".join(json.dumps(line) + "\n" for line in [section.header, *section.entries]))
        paths.append(path)
    return paths


def read_all(paths: Iterable[Path]) -> list[Section]:
    return [section for path in paths for section in read_trace(path)]
