"""Lines of a broker's log about members that were removed or fenced, in Kafka 4's words, and which of them tells of a fence."""

from __future__ import annotations

import enum
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from membership_client.cli.terminal_text import printable
from membership_client.debugger.model.trace_entry import TraceEntry


class BrokerLogError(Exception):
    """A broker's log cannot be read. Safe to print."""


class RemovalKind(enum.Enum):
    REMOVED = "a client asked for it with a LeaveGroup request"
    FENCED = "the coordinator did not wait for it any longer"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalLine:
    """One line of a broker's log. Members that leave by themselves have such lines too."""

    path: Path
    line: int
    how: RemovalKind
    group: str
    member_id: str
    """Empty where a static member was named by its instance id alone."""
    instance_id: str | None = None
    reason: str
    text: str
    """From the date on, as the broker wrote it."""
    time: float | None
    """As if its clock showed UTC, in seconds since 1970; None where the line has no date."""


_LEFT = re.compile(
    r"\[Group(?:Id)? (?P<group>[^\]]+)\] (?:Dynamic |Static |Pending )?[Mm]ember (?P<member>\S*)"
    r"(?: with instance id (?P<instance>\S+))? has left group through explicit `LeaveGroup` request; "
    r"client reason: (?P<reason>.*)"
)
_FENCED = re.compile(
    r"\[GroupId (?P<group>[^\]]+)\] Member (?P<member>\S+) fenced from the group because (?P<reason>.*?)\.?$"
)
_FAILED = re.compile(r"Member (?P<member>\S+) in group (?P<group>\S+) has failed, removing it from the group\.?$")
_LOGGER = re.compile(r" \((?:org\.apache\.)?kafka\.[\w.$]+\)$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3}")
_HINTS = ("has left group", "fenced from the group", "has failed, removing")

_LONGEST = 4 << 10
"""Characters of a line that are looked at. Group ids and reasons are shorter; expressions take long on long lines."""


def read_broker_logs(paths: Iterable[Path]) -> tuple[RemovalLine, ...]:
    """All lines about members that were removed or fenced. BrokerLogError if a file cannot be read."""
    lines = (line for path in dict.fromkeys(paths) for line in log_lines(path, _HINTS))
    return tuple(found for line in lines if (found := _removal_line(line)) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of a broker's log."""

    path: Path
    number: int
    message: str
    """Without the name of the logger at its end."""
    time: float | None
    """As if the broker's clock showed UTC, in seconds since 1970; None where the line has no date."""
    text: str
    """From the date on, as the broker wrote it."""


def log_lines(path: Path, hints: Sequence[str]) -> Iterator[LogLine]:
    """The lines of one log that have any of the hints. BrokerLogError if the file cannot be read."""
    try:
        with path.open(errors="replace") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise BrokerLogError(printable(f"{path} is a device, and not a file."))
            for number, line in enumerate(_lines(file), 1):
                # Logs are long, and a search for words is quick.
                if any(hint in line for hint in hints):
                    yield _log_line(path, number, line.rstrip())
    except OSError as error:
        raise BrokerLogError(printable(f"{path} cannot be read: {error.strerror}.")) from error


def _log_line(path: Path, number: int, line: str) -> LogLine:
    message, date = _LOGGER.sub("", line), _DATE.search(line)
    return LogLine(
        path=path,
        number=number,
        message=message,
        time=_time(date.group()) if date else None,
        text=message[date.start() :] if date else message,
    )


def _lines(file: TextIO) -> Iterator[str]:
    """The beginning of each line, because a line may be endless."""
    while line := file.readline(_LONGEST):
        yield line
        while line and not line.endswith("\n"):
            line = file.readline(_LONGEST)


def _removal_line(line: LogLine) -> RemovalLine | None:
    left = _LEFT.search(line.message)
    found = left or _FENCED.search(line.message) or _FAILED.search(line.message)
    if found is None:
        return None
    said = found.groupdict()
    return RemovalLine(
        path=line.path,
        line=line.number,
        how=RemovalKind.REMOVED if left else RemovalKind.FENCED,
        group=said["group"],
        member_id=said["member"],
        instance_id=said.get("instance"),
        reason=said.get("reason") or "the member session expired",
        text=line.text,
        time=line.time,
    )


def _time(date: str) -> float | None:
    try:
        return datetime.fromisoformat(date.replace(",", ".")).replace(tzinfo=UTC).timestamp()
    except ValueError:  # As 2027-13-32 24:61:61.000, which looks like a date.
        return None


# --- which line tells of a fence -------------------------------------------------------------------------------------


_ZONE_S = 900.0
"""Zones differ by quarters of an hour."""


@dataclass(frozen=True, slots=True)
class BrokerLogLines:
    """What brokers' logs say of one member."""

    lines: tuple[RemovalLine, ...] = ()
    slack_s: float = 0.0
    """By how much the clocks may differ, and how long an answer may have been on its way."""

    def between(self, confirmed_at: float, fenced: TraceEntry) -> RemovalLine | None:
        """The nearest line written after the coordinator last confirmed the member and before the member knew of the fence."""
        since_s = confirmed_at - fenced.at - self.slack_s
        found = [line for line in self.lines if line.time is None or since_s <= _apart_s(line, fenced) <= self.slack_s]
        return min(found, key=lambda line: abs(_apart_s(line, fenced)), default=None)


def _apart_s(line: RemovalLine, fenced: TraceEntry) -> float:
    """How long after the member learned of the fence the line was written; 0 if the line has no time."""
    if line.time is None:
        return 0.0
    return (line.time - fenced.time + _ZONE_S / 2) % _ZONE_S - _ZONE_S / 2


def lines_about(
    lines: Iterable[RemovalLine], group: str, ids: frozenset[str], instance_id: str | None
) -> tuple[RemovalLine, ...]:
    """Lines that name the member by its id, or by its instance id if they have no member id."""
    named = (line for line in lines if line.group == group)
    return tuple(line for line in named if line.member_id in ids or _names(line, instance_id))


def _names(line: RemovalLine, instance_id: str | None) -> bool:
    return not line.member_id and instance_id is not None and line.instance_id == instance_id
