"""Traces as they are read: sections, each a header and what happened after it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from membership_client.errors import MembershipError
from membership_client.trace.journal import VERSION
from membership_client.trace.values import Json

_HEADER = '{"trace":'


class TraceError(MembershipError, ValueError):
    advice = "A trace is a file that trace.file or GroupMember.trace.save() wrote."


@dataclass(frozen=True, slots=True)
class Section:
    """One run of one member, or the part of it that lies in one file.

    `at` of its entries is the member's monotonic clock; `wall(at)` is the time of day, by the clock of its machine.
    """

    path: Path
    line: int
    """Of the header; entry i stands i + 1 lines below."""
    header: dict[str, Json]
    entries: list[dict[str, Json]] = field(default_factory=list)
    torn: bool = False
    """The last line was not whole: the process, or its machine, ended while it was written."""

    @property
    def name(self) -> str:
        """The instance id, or else the member id."""
        return str(self.header["instance"] or self.header["member"])

    def wall(self, at: float) -> float:
        return float(self.header["wall"] + at - self.header["at"])


def read_trace(path: Path | str) -> list[Section]:
    """TraceError names the line that cannot be read. The last line of a run may be torn: that is no error.

    Nor is a file in which nothing but half a header was written, or nothing at all: it has no sections.
    """
    path = Path(path)
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}.") from error
    lines = text.split("\n")
    whole, rest = lines[:-1], lines[-1]
    sections = _sections(path, whole)
    if rest:
        _tear(path, sections, len(lines), rest)
    return sections


def _sections(path: Path, lines: Sequence[str]) -> list[Section]:
    sections: list[Section] = []
    for number, line in enumerate(lines, 1):
        if _is_torn(lines, number - 1):
            _tear(path, sections, number, line)
            continue
        entry = _parse(path, number, line)
        if "trace" in entry:
            _check_version(path, number, entry["trace"])
            sections.append(Section(path, number, entry))
        elif not sections:
            raise TraceError(f"{path}, line {number}: a trace begins with a header.")
        else:
            sections[-1].entries.append(entry)
    return sections


def _is_torn(lines: Sequence[str], index: int) -> bool:
    """Half a line, and after it a new run."""
    following = lines[index + 1] if index + 1 < len(lines) else ""
    return following.startswith(_HEADER) and _loaded(lines[index]) is None


def _tear(path: Path, sections: list[Section], number: int, line: str) -> None:
    """Half a header tells of a run that has not begun, and nothing of the one before."""
    if line.startswith(_HEADER):
        return
    if not sections:
        raise _not_a_line(path, number)
    sections[-1] = replace(sections[-1], torn=True)


def _parse(path: Path, number: int, line: str) -> dict[str, Json]:
    entry = _loaded(line)
    if entry is None:
        raise _not_a_line(path, number)
    return entry


def _loaded(line: str) -> dict[str, Json] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _not_a_line(path: Path, number: int) -> TraceError:
    return TraceError(f"{path}, line {number} is not a line of a trace.")


def _check_version(path: Path, number: int, version: object) -> None:
    if version != VERSION:
        text = f"{path}, line {number}: the trace has version {version}, and this program reads version {VERSION}."
        raise TraceError(text)
