"""Sentences about the events, for the timeline and for plain output."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from membership_client import CauseKind, MemberState
from membership_client.cli.output import OutputError
from membership_client.demo.events import (
    Called,
    Closed,
    ClusterReady,
    DemoEvent,
    ErrorLine,
    ProcessEnded,
    ReasonsLogged,
    Seen,
    Started,
    StepBegan,
)
from membership_client.demo.kit import GroupSeen, Remark, numbers
from membership_client.demo.summary import Summary, plain_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from membership_client.demo.recording import Recording

Tone = Literal["step", "note", "act", "gain", "give", "calm", "bad"]

_KILLED = -9
_TROUBLE = {MemberState.FENCED, MemberState.STALE, MemberState.FATAL}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `who` is a member's name, or empty."""

    at: float
    who: str
    text: str
    tone: Tone


def sentences_of(events: Iterable[DemoEvent]) -> list[Sentence]:
    """All sentences so far."""
    writer = SentenceWriter()
    return [line for event in events if (line := writer.sentence_for(event)) is not None]


class SentenceWriter:
    """Turns events into sentences. It remembers states, and mentions only changes, each with its cause."""

    def __init__(self) -> None:
        self._states: dict[int, tuple[MemberState, int]] = {}
        self._newcomers: list[str] = []
        self._last_owners: dict[int, str] = {}
        self._error_lines: set[tuple[int, str]] = set()

    def sentence_for(self, event: DemoEvent) -> Sentence | None:
        """The sentence for an event; None if it changes nothing that is shown."""
        match event:
            case Seen():
                return self._seen(event)
            case Called():
                return self._called(event)
            case ErrorLine():
                return self._error_line(event)
            case Started():
                self._newcomers.append(event.name)
                return _started(event)
            case ProcessEnded() | Closed():
                return _gone(event)
            case _:
                return _about_cluster(event)

    def _seen(self, seen: Seen) -> Sentence | None:
        now = (seen.state, seen.epoch)
        if self._states.get(seen.pid) == now:
            return None
        self._states[seen.pid] = now
        if seen.state in _TROUBLE:
            return Sentence(seen.at, seen.name, f"{seen.state.name} ({seen.error or seen.cause})", "bad")
        if seen.state is MemberState.STABLE:
            return Sentence(seen.at, seen.name, f"STABLE at epoch {seen.epoch}, owns {numbers(seen.owned)}", "calm")
        return None

    def _called(self, called: Called) -> Sentence:
        listed, why = numbers(called.partitions), self._why(called)
        if called.kind == "assigned":
            return Sentence(called.at, called.name, f"{self._taking(called)} ({why})", "gain")
        if called.kind == "revoked":
            return Sentence(called.at, called.name, f"gives up {listed} ({why})", "give")
        return Sentence(called.at, called.name, f"has lost {listed} ({why})", "bad")

    def _taking(self, called: Called) -> str:
        if not called.partitions:
            return "is in the group, but owns nothing yet"
        owners = {self._last_owners[p] for p in called.partitions if p in self._last_owners}
        self._last_owners.update(dict.fromkeys(called.partitions, called.name))
        origin = " back" if owners == {called.name} else f" from {' and '.join(sorted(owners))}" if owners else ""
        return f"takes {numbers(called.partitions)}{origin}"

    def _why(self, called: Called) -> str:
        """The cause that the member gives; if it is only a change of the group, also the member that joined."""
        kind, _, detail = called.cause.partition(": ")
        others = [name for name in self._newcomers if name != called.name]
        if kind == CauseKind.GROUP_CHANGED.value and called.kind == "revoked" and others:
            return f"{others[-1]} joined: {detail}"
        return detail if detail.startswith(kind) else called.cause

    def _error_line(self, line: ErrorLine) -> Sentence | None:
        """The sentence for a line of the log; None for a repeated one. A member logs a problem again when it knows more of it."""
        text = re.sub(r"^\[[^]]*\]: ", "", line.text)
        if (line.pid, text) in self._error_lines:
            return None
        self._error_lines.add((line.pid, text))
        return Sentence(line.at, line.name, text, "note")


def _started(started: Started) -> Sentence:
    kind = f"static, instance id {started.instance_id}" if started.instance_id else "dynamic"
    return Sentence(started.at, started.name, f"starts as process {started.pid} ({kind})", "act")


def _gone(event: ProcessEnded | Closed) -> Sentence | None:
    at, who = event.at, event.name
    if isinstance(event, Closed):
        return Sentence(at, who, f"left, reason: {event.reason} ({event.outcome})", "give")
    if event.code == 0:
        return None  # The close of this process was reported before.
    if event.code == _KILLED:
        return Sentence(at, who, "was killed with SIGKILL: it could not leave the group", "bad")
    return Sentence(at, who, f"ended unexpectedly, with code {event.code}", "bad")


def _about_cluster(event: DemoEvent) -> Sentence | None:
    match event:
        case StepBegan():
            return Sentence(event.at, "", f"{event.number}/{event.of} {event.title}", "step")
        case ClusterReady():
            text = f"the broker and the topic are ready: {event.title}"
        case GroupSeen():
            text = f"the coordinator says: group epoch {event.epoch}, {event.members} members"
        case ReasonsLogged():
            text = f"the broker logged the reasons for leaving: {'; '.join(event.reasons) or 'nothing'}"
        case Remark():
            text = event.text
        case _:
            return None
    return Sentence(event.at, "", text, "note")


# --- plain output ----------------------------------------------------------------------------------------------------


class PlainView:
    """In its `with` block, all recorded events are printed."""

    def __init__(self, recording: Recording) -> None:
        self._began_at = recording.began_at
        self._writer = SentenceWriter()
        recording.watch(self._print)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, summary: Summary) -> None:
        print("\n".join(plain_lines(summary)), flush=True)

    def _print(self, event: DemoEvent) -> None:
        line = self._writer.sentence_for(event)
        if line is None:
            return
        space = "\n" if line.tone == "step" else ""
        try:
            print(f"{space}[{line.at - self._began_at:5.1f}s] {line.who:<9}{line.text}", flush=True)
        except OutputError:
            _stop_playing()


def _stop_playing() -> None:
    """End the demonstration as if it was interrupted, because the reader of its output has gone."""
    os.kill(os.getpid(), signal.SIGTERM)
