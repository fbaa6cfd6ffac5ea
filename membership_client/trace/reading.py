"""Reads traces: sections of a header and entries, each line within bounds.

A trace may come from anywhere. A line of thirty bytes must not cost gigabytes (`"0-999999999"` as partitions), and no value may be
one that Python, a browser or a terminal cannot handle: NaN, a lone surrogate, deep nesting.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from membership_client.cli.terminal_text import excerpt, printable
from membership_client.errors import MembershipError
from membership_client.member_names import member_name
from membership_client.partitions import count_of
from membership_client.trace.format import PARTITION_FIELDS, VERSION
from membership_client.trace.values import Json
from membership_client.values import dataclass

_HEADER = b'{"trace":'

MOST_PARTITIONS_OF_A_FILE = 2_000_000
"""How many partitions all lines of a file may name by ranges. Each becomes an object: a small file must not fill the memory."""


class TraceError(MembershipError, ValueError):
    """A trace cannot be read. The text is safe to print: control characters of the trace, or of its file name, are replaced."""

    advice = "A trace is a file that trace.file or GroupMember.trace.save() wrote: leave this one out, or get it anew."

    def __str__(self) -> str:
        return printable(super().__str__())


class UnreadableTraceError(TraceError):
    advice = "Run the command as a user who may read the file, or have its owner allow it."


@dataclass(frozen=True, slots=True)
class Section:
    """One run of one member, or the part of it that lies in one file.

    `at` of its entries is the member's monotonic clock; `wall(at)` is the time of day, by the clock of its machine.
    """

    path: Path
    line: int
    """The line of the header; entry i is i + 1 lines below."""
    header: dict[str, Json]
    entries: list[dict[str, Json]] = field(default_factory=list)
    torn: bool = False
    """Whether the last line is incomplete, because the process or its machine ended while it was written."""

    @property
    def name(self) -> str:
        """See `member_names`."""
        header = self.header
        client_id = header["start"]["config"].get("client_id", "")
        return member_name(header["instance"], str(client_id), header["host"], header["pid"])

    @property
    def dropped(self) -> int:
        """How many steps are missing before this section, because the file could not be written fast enough."""
        return int(self.header.get("dropped", 0))

    def wall(self, at: float) -> float:
        return float(self.header["wall"] + at - self.header["at"])


def read_trace(path: Path | str) -> list[Section]:
    """The runs of members that a trace file has, in the order in which they were written.

        with GroupMember({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as member:
            member.trace.save("till.jsonl")
        for section in read_trace("till.jsonl"):
            print(section.name, "made", len(section.entries), "steps")

    TraceError names the line that cannot be read. An incomplete last line of a run is no error. A file that is empty, or
    has only a part of a header, has no sections. Lines that could exhaust the memory are refused.
    """
    path = Path(path)
    try:
        lines = _content(path).split(b"\n")
    except OSError as error:
        kind = UnreadableTraceError if isinstance(error, PermissionError) else TraceError
        raise kind(f"{path}: {error.strerror}.") from error
    whole, rest = lines[:-1], lines[-1]
    sections = _sections(path, whole)
    if rest:
        _tear(path, sections, len(lines), rest)
    return sections


def _content(path: Path) -> bytes:
    """The bytes of a file or a pipe. TraceError for a device, which has no end."""
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise TraceError(f"{path} is a device, and not a file.")
        return file.read()


def _sections(path: Path, lines: Sequence[bytes]) -> list[Section]:
    sections: list[Section] = []
    partitions = 0
    for number, line in enumerate(lines, 1):
        if _is_torn(lines, number - 1):
            _tear(path, sections, number, line)
            continue
        entry, named = _parse(path, number, line)
        partitions += named
        if partitions > MOST_PARTITIONS_OF_A_FILE:
            text = f"the lines up to here name {partitions} partitions; the limit for a file is {MOST_PARTITIONS_OF_A_FILE}"
            raise TraceError(f"{path}, line {number}: {text}.")
        if "trace" in entry:
            _check_version(path, number, entry["trace"])
            sections.append(Section(path, number, entry))
        elif not sections:
            raise TraceError(f"{path}, line {number}: a trace begins with a header.")
        else:
            sections[-1].entries.append(entry)
    return sections


def _is_torn(lines: Sequence[bytes], index: int) -> bool:
    """Whether the line is incomplete, and a new run follows it."""
    following = lines[index + 1] if index + 1 < len(lines) else b""
    if not following.startswith(_HEADER):
        return False
    try:
        parse_line(lines[index])
    except LineError:
        return True
    return False


def _tear(path: Path, sections: list[Section], number: int, line: bytes) -> None:
    """Mark the last section as torn, unless the incomplete line is a header: a run without a header has no section."""
    if line.startswith(_HEADER):
        return
    if not sections:
        raise _not_a_line(path, number, "is not a line of a trace")
    sections[-1] = replace(sections[-1], torn=True)


def _parse(path: Path, number: int, line: bytes) -> tuple[dict[str, Json], int]:
    """The line, and the number of partitions that it names."""
    try:
        entry = parse_line(line)
        return entry, partitions_of(entry)
    except LineError as error:
        raise _not_a_line(path, number, str(error)) from error


def _not_a_line(path: Path, number: int, why: str) -> TraceError:
    return TraceError(f"{path}, line {number} {why}.")


def _check_version(path: Path, number: int, version: object) -> None:
    if version != VERSION or isinstance(version, bool):
        shown = excerpt(repr(version))
        text = f"{path}, line {number}: the trace has version {shown}, and this program reads version {VERSION}."
        raise TraceError(text)


# --- one line --------------------------------------------------------------------------------------------------------


LONGEST_BYTES = 16 << 20
"""Enough for the assignment that a leader makes of two hundred thousand partitions."""

MOST_PARTITIONS = 200_000
"""How many partitions one line may name by ranges. Each becomes an object, of about a kilobyte in a report."""

_DEEPEST = 24
"""Members write 10 levels."""

_LARGEST = 2**63
"""Kafka's largest numbers have 64 bits; all times are far smaller."""

_HALVES = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class LineError(ValueError):
    """What is wrong with a line: the rest of a sentence whose subject is the line, without its full stop."""


def parse_line(text: bytes) -> dict[str, Json]:
    """The JSON object in the line. LineError if the line is no object, or exceeds one of the limits above."""
    if len(text) > LONGEST_BYTES:
        raise LineError(f"is longer than {LONGEST_BYTES >> 20} MiB")
    # A trace that was cut off may end in the middle of a character.
    line = text.decode(errors="replace")
    entry = _loaded(line)
    if not isinstance(entry, dict):
        raise LineError("is not a line of a trace")
    _check(entry, 1)
    return _whole(entry) if _HALVES.search(line) else entry


def partitions_of(value: Json) -> int:
    """How many partitions a line names by ranges. LineError if there are too many, or if a range cannot be read."""
    count = _partitions_of(value)
    if count > MOST_PARTITIONS:
        raise LineError(f"names {count} partitions; the limit is {MOST_PARTITIONS}")
    return count


def _loaded(line: str) -> Json:
    try:
        return json.loads(line, parse_constant=_refuse)
    except RecursionError:
        raise LineError("is nested too deeply") from None
    except LineError:
        raise
    except ValueError:
        return None


def _refuse(constant: str) -> Json:
    raise LineError(f"has {constant} as a number")


def _check(value: Json, depth: int) -> None:
    if depth > _DEEPEST:
        raise LineError(f"is nested deeper than {_DEEPEST} levels")
    parts = value.values() if isinstance(value, dict) else value
    for part in parts:
        kind = type(part)
        if kind is dict or kind is list:
            _check(part, depth + 1)
        elif (kind is int or kind is float) and not -_LARGEST <= part < _LARGEST:
            raise LineError("has a number that is too large")


def _partitions_of(value: Json) -> int:
    if isinstance(value, list):
        return sum(map(_partitions_of, value))
    if not isinstance(value, dict):
        return 0
    return sum(
        _named_by(part) if key in PARTITION_FIELDS and isinstance(part, dict) else _partitions_of(part)
        for key, part in value.items()
    )


def _named_by(topics: Mapping[str, Json]) -> int:
    try:
        return sum(count_of(text) for text in topics.values() if isinstance(text, str))
    except ValueError as error:
        raise LineError(f"cannot be read: {error}") from None


def _whole(value: Json) -> Json:
    """The value without lone surrogates, which cannot be written to a file or a terminal."""
    if isinstance(value, str):
        return _LONE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(part) for key, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list) else value
