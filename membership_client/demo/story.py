"""Tells what happens in sentences, for the timeline and for plain output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from membership_client import CauseKind, MemberState
from membership_client.demo.happenings import (
    Called,
    Closed,
    Complained,
    Happening,
    ProcessEnded,
    ReasonsLogged,
    Seen,
    StageSet,
    Started,
    StepBegan,
)
from membership_client.demo.kit import GroupSeen, Remark

if TYPE_CHECKING:
    from collections.abc import Iterable

Tone = Literal["step", "note", "act", "gain", "give", "calm", "bad"]

_KILLED = -9
_TROUBLE = {MemberState.FENCED, MemberState.STALE, MemberState.FATAL}


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence; `who` is a member's name, or empty."""

    at: float
    who: str
    text: str
    tone: Tone


def numbers(partitions: Iterable[int]) -> str:
    return " ".join(map(str, partitions)) or "nothing"


def lines_of(happenings: Iterable[Happening]) -> list[Line]:
    """The whole story so far."""
    teller = Storyteller()
    return [line for happening in happenings if (line := teller.tell(happening)) is not None]


class Storyteller:
    """Remembers what it told, so that it tells changes only, and of each change what brought it about."""

    def __init__(self) -> None:
        self._states: dict[int, tuple[MemberState, int]] = {}
        self._newcomers: list[str] = []
        self._last_owners: dict[int, str] = {}
        self._complaints: set[tuple[int, str]] = set()

    def tell(self, happening: Happening) -> Line | None:
        """The sentence for it, or None where there is nothing to say."""
        match happening:
            case Seen():
                return self._seen(happening)
            case Called():
                return self._called(happening)
            case Complained():
                return self._complained(happening)
            case Started():
                self._newcomers.append(happening.name)
                return _started(happening)
            case ProcessEnded() | Closed():
                return _gone(happening)
            case _:
                return _stage(happening)

    def _seen(self, seen: Seen) -> Line | None:
        now = (seen.state, seen.epoch)
        if self._states.get(seen.pid) == now:
            return None
        self._states[seen.pid] = now
        if seen.state in _TROUBLE:
            return Line(seen.at, seen.name, f"{seen.state.name} ({seen.error or seen.cause})", "bad")
        if seen.state is MemberState.STABLE:
            return Line(seen.at, seen.name, f"STABLE at epoch {seen.epoch}, owns {numbers(seen.owned)}", "calm")
        return None

    def _called(self, called: Called) -> Line:
        listed, why = numbers(called.partitions), self._why(called)
        if called.kind == "assigned":
            return Line(called.at, called.name, f"{self._taking(called)} ({why})", "gain")
        if called.kind == "revoked":
            return Line(called.at, called.name, f"gives up {listed} ({why})", "give")
        return Line(called.at, called.name, f"has lost {listed} ({why})", "bad")

    def _taking(self, called: Called) -> str:
        if not called.partitions:
            return "is in the group, but owns nothing yet"
        owners = {self._last_owners[p] for p in called.partitions if p in self._last_owners}
        self._last_owners.update(dict.fromkeys(called.partitions, called.name))
        origin = " back" if owners == {called.name} else f" from {' and '.join(sorted(owners))}" if owners else ""
        return f"takes {numbers(called.partitions)}{origin}"

    def _why(self, called: Called) -> str:
        """The member's own word; where it only knows that the group changed, also who came."""
        kind, _, detail = called.cause.partition(": ")
        others = [name for name in self._newcomers if name != called.name]
        if kind == CauseKind.GROUP_CHANGED.value and called.kind == "revoked" and others:
            return f"{others[-1]} joined: {detail}"
        return detail if detail.startswith(kind) else called.cause

    def _complained(self, complained: Complained) -> Line | None:
        """A member logs a problem again when it knows more of it; once is enough here."""
        text = re.sub(r"^\[[^]]*\]: ", "", complained.text)
        if (complained.pid, text) in self._complaints:
            return None
        self._complaints.add((complained.pid, text))
        return Line(complained.at, complained.name, text, "note")


def _started(started: Started) -> Line:
    kind = f"static, instance id {started.instance_id}" if started.instance_id else "dynamic"
    return Line(started.at, started.name, f"starts as process {started.pid} ({kind})", "act")


def _gone(happening: ProcessEnded | Closed) -> Line | None:
    at, who = happening.at, happening.name
    if isinstance(happening, Closed):
        return Line(at, who, f"left, reason: {happening.reason} ({happening.outcome})", "give")
    if happening.code == 0:
        return None  # Its report was told before.
    if happening.code == _KILLED:
        return Line(at, who, "was killed with SIGKILL: it could tell nobody", "bad")
    return Line(at, who, f"ended unexpectedly, with code {happening.code}", "bad")


def _stage(happening: Happening) -> Line | None:
    match happening:
        case StepBegan():
            return Line(happening.at, "", f"{happening.number}/{happening.of} {happening.title}", "step")
        case StageSet():
            text = f"the stage is set: {happening.title}"
        case GroupSeen():
            text = f"the coordinator says: group epoch {happening.epoch}, {happening.members} members"
        case ReasonsLogged():
            text = f"the broker logged why they left: {'; '.join(happening.reasons) or 'nothing'}"
        case Remark():
            text = happening.text
        case _:
            return None
    return Line(happening.at, "", text, "note")
