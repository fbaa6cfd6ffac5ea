"""Who owned what when, read from the lines of traces by a reader of its own: nothing here is shared with the debugger."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from membership_client.trace import Section

Place = tuple[str, int]
"""A partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a trace, with the state before and after it."""

    file: str
    number: int
    at: float
    time: float
    epoch_before: int
    epoch: int
    state_before: str
    state: str
    owned_before: frozenset[Place]
    owned: frozenset[Place]
    jumped_s: float
    event: dict[str, Any]
    effects: list[dict[str, Any]]
    facts: dict[str, Any]

    @property
    def is_step(self) -> bool:
        return bool(self.event)

    def answer(self) -> dict[str, Any]:
        """What a broker answered; empty if the line is no answer."""
        return dict(self.event["response"]) if self.event.get("is") == "Answered" else {}

    def wants(self) -> list[dict[str, Any]]:
        return [effect for effect in self.effects if effect["is"] == "RunCallback"]

    def requests(self) -> list[dict[str, Any]]:
        return [effect["request"] for effect in self.effects if effect["is"] == "Send"]


@dataclass(eq=False)
class Life:
    """One process's membership in a group, from its first line to its last."""

    header: dict[str, Any]
    lines: list[Line] = field(default_factory=list)
    name: str = ""

    @property
    def instance(self) -> str | None:
        return self.header["instance"]  # type: ignore[no-any-return]

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.header["start"]["config"])

    @property
    def host(self) -> str:
        return str(self.header["host"])

    @property
    def where(self) -> str:
        return f"process {self.header['pid']} on {self.host}"

    @functools.cached_property
    def clock_set_s(self) -> float:
        """Of all jumps of its clock. After a sleep of its machine it would have been fenced."""
        found = 0.0
        for line in self.lines:
            soon = (after for after in self.lines if line.at <= after.at <= line.at + 30.0)
            asleep = line.jumped_s > 5.0 and any(after.epoch == 0 < after.epoch_before for after in soon)
            found += 0.0 if asleep else abs(line.jumped_s)
        return found

    def at(self, time: float) -> Line:
        """The line of that time."""
        return min(self.lines, key=lambda line: abs(line.time - time))


@dataclass(frozen=True, slots=True, eq=False)
class Tenure:
    """A partition and its owner, from the line that brought it to the line that took it; or to the trace's last one."""

    place: Place
    life: Life
    began: Line
    ended: Line
    is_open: bool


@dataclass
class Truth:
    lives: list[Life]
    skew_s: float

    def named(self, name: str) -> list[Life]:
        return [life for life in self.lives if life.name == name]

    @functools.cached_property
    def _by_place(self) -> dict[Place | None, list[Tenure]]:
        found: dict[Place | None, list[Tenure]] = defaultdict(list)
        tenures = [tenure for life in self.lives for tenure in _tenures(life)]
        for tenure in sorted(tenures, key=lambda tenure: tenure.began.time):
            found[tenure.place].append(tenure)
            found[None].append(tenure)
        return found

    def tenures(self, place: Place | None = None) -> list[Tenure]:
        """All, or those of one partition, by when they began."""
        return self._by_place[place]

    def doubt_s(self, one: Life, other: Life) -> float:
        set_s = one.clock_set_s + other.clock_set_s
        return (0.0 if one.host == other.host else self.skew_s) + set_s

    def reached(self, epoch: int) -> list[tuple[float, Life]]:
        """When each life first had that epoch in a membership."""
        return [
            (line.time, life) for life in self.lives for line in life.lines if line.epoch == epoch != line.epoch_before
        ]


def truth_of(sections: Iterable[Section], skew_s: float) -> Truth:
    """Of one group, from whole files."""
    lives: dict[tuple[Any, ...], Life] = {}
    for section in sorted(sections, key=lambda s: (s.entries[0]["at"] if s.entries else 0.0, str(s.path), s.line)):
        key = tuple(section.header[part] for part in ("group", "member", "host", "pid"))
        if section.entries:
            life = lives.setdefault(key, Life(section.header))
            life.lines += _lines(section, life.lines[-1] if life.lines else None)
    found = sorted(lives.values(), key=lambda life: life.lines[0].time)
    _give_names(found)
    return Truth(found, skew_s)


def _give_names(lives: list[Life]) -> None:
    for life in lives:
        client, place = life.config.get("client_id"), f"{life.host}:{life.header['pid']}"
        life.name = life.instance or (f"{client}@{place}" if client else place)
    counts = Counter(life.name for life in lives if life.instance is None)
    for life in lives:
        if counts[life.name] > 1:
            life.name += f" ({life.header['member'][-8:]})"


def _lines(section: Section, last: Line | None) -> Iterator[Line]:
    offset_s = section.header["wall"] - section.header["at"]
    for number, shown in enumerate(section.entries, section.line + 1):
        offset_s += shown.get("jumped", 0.0)
        last = Line(
            file=str(section.path),
            number=number,
            at=shown["at"],
            time=shown["at"] + offset_s,
            epoch_before=last.epoch if last else 0,
            epoch=shown.get("epoch", last.epoch if last else 0),
            state_before=last.state if last else "UNSUBSCRIBED",
            state=shown.get("state", last.state if last else "UNSUBSCRIBED"),
            owned_before=last.owned if last else frozenset(),
            owned=places(shown["owned"]) if "owned" in shown else last.owned if last else frozenset(),
            jumped_s=shown.get("jumped", 0.0),
            event=shown.get("event", {}),
            effects=shown.get("effects", []),
            facts=shown if "note" in shown else {"cpu": shown.get("cpu")},
        )
        yield last


def places(shown: dict[str, str]) -> frozenset[Place]:
    """Of `{"orders": "0-2,5"}`."""
    return frozenset((topic, number) for topic, text in shown.items() for number in numbers(text))


def numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _tenures(life: Life) -> Iterator[Tenure]:
    since: dict[Place, Line] = {}
    for line in life.lines:
        for place in line.owned_before - line.owned:
            yield Tenure(place, life, since.pop(place), line, is_open=False)
        since |= dict.fromkeys(line.owned - line.owned_before, line)
    for place, began in since.items():
        yield Tenure(place, life, began, life.lines[-1], is_open=True)


def unowned(truth: Truth) -> dict[Place, list[tuple[float, float, Tenure]]]:
    """Times between an owner and the next one, or the end of all traces, with the last owner before."""
    until = max(life.lines[-1].time for life in truth.lives)
    found: dict[Place, list[tuple[float, float, Tenure]]] = defaultdict(list)
    for place in {tenure.place for tenure in truth.tenures()}:
        last: Tenure | None = None
        for tenure in truth.tenures(place):
            if last is not None and tenure.began.time > last.ended.time:
                found[place].append((last.ended.time, tenure.began.time, last))
            if last is None or tenure.ended.time >= last.ended.time:
                last = tenure
        assert last is not None
        found[place].append((last.ended.time, until, last))
    return found


def shared(truth: Truth) -> list[tuple[float, float, Tenure, Tenure]]:
    """Times in which two lives owned a partition: both tenures, the older one first."""
    found = []
    for place in {tenure.place for tenure in truth.tenures()}:
        tenures = truth.tenures(place)
        for number, one in enumerate(tenures):
            for other in tenures[number + 1 :]:
                ended = min(one.ended.time, other.ended.time)
                if one.life is not other.life and ended - other.began.time > max(
                    0.1, truth.doubt_s(one.life, other.life)
                ):
                    found.append((other.began.time, ended, one, other))
    return found
