"""A recorded run through the same state machine: does this version do what was done then?"""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.core.events import Event
from membership_client.core.machine import step
from membership_client.core.member import Member
from membership_client.debugger.model.checking import checked
from membership_client.debugger.model.decoding import decoded, reading, start_of
from membership_client.trace.reading import Section
from membership_client.trace.values import Json, encode


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
