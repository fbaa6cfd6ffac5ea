"""The command `membership-client replay`: a recorded run through the state machine of this version, compared step by step."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from membership_client.cli.terminal_text import printable
from membership_client.core.events import Event
from membership_client.core.machine import step
from membership_client.core.member import Member
from membership_client.debugger.model.decoding import checked, decoded, reading, start_of
from membership_client.debugger.words import counted
from membership_client.trace import Section, TraceError, read_trace
from membership_client.trace.values import Json, encode


def replay_files(paths: Iterable[Path]) -> int:
    """Prints one line per run; the exit code says how it went."""
    try:
        outcomes = [_replay_file(path) for path in paths]
    except TraceError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(outcomes) else 1


def _replay_file(path: Path) -> bool:
    sections = read_trace(path)
    if not sections:
        print(printable(f"{path}: nothing was recorded"))
    outcomes = [_replay_section(section) for section in sections]
    return all(outcomes)


def _replay_section(section: Section) -> bool:
    outcome = replay(section)
    subject = f"{section.path}: {section.name} of {section.header['group']}"
    if section.dropped:
        verb = "is" if section.dropped == 1 else "are"
        subject += f" (line {section.line}: {counted(section.dropped, 'step')} before it {verb} missing)"
    if outcome.divergence is not None:
        print(printable(f"{subject}: after {counted(outcome.steps, 'step')}, {outcome.divergence}"))
        return False
    torn = ", then a torn line" if section.torn else ""
    print(printable(f"{subject}: {counted(outcome.steps, 'step')}, all as recorded{torn}"))
    return True


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first step that a replay did differently. `line` is its number in the file."""

    line: int
    what: str
    recorded: Json
    replayed: Json

    def __str__(self) -> str:
        return f"line {self.line}: {self.what} was {self.recorded}, and is {self.replayed} when replayed"


@dataclass(frozen=True, slots=True)
class Replay:
    """`member` is where it ended: after the last step, or where it diverged."""

    steps: int
    member: Member
    divergence: Divergence | None = None


def replay(section: Section) -> Replay:
    """TraceError if a line is not what this version writes."""
    member, steps = start_of(checked(section)), 0
    for number, entry in enumerate(section.entries, section.line + 1):
        if "event" not in entry:
            continue
        event = decoded(section, number, Event, entry["event"])
        with reading(section, number):
            member, effects = step(member, event, entry["at"])
        steps += 1
        replayed = {"state": encode(member.state), "epoch": member.epoch, "effects": [encode(e) for e in effects]}
        for what, now in replayed.items():
            if (then := entry.get(what, [])) != now:
                return Replay(steps, member, Divergence(number, what, then, now))
    return Replay(steps, member)
