"""Values out of a trace: checked and decoded, or a TraceError that names the line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from membership_client.cli.terminal_text import excerpt
from membership_client.core.member import Member
from membership_client.errors import MembershipError
from membership_client.trace.reading import Section, TraceError
from membership_client.trace.values import LONGEST_S, Json, decode


def decoded(section: Section, line: int, kind: Any, data: Json) -> Any:
    """TraceError names the line, and the version that wrote it."""
    with reading(section, line):
        return decode(kind, data)


def start_of(section: Section) -> Member:
    """The member as it was when the section began."""
    with reading(section, section.line):
        member: Member = decode(Member, section.header["start"])
    return member


@contextlib.contextmanager
def reading(section: Section, line: int) -> Iterator[None]:
    """Turns any error of the block into a TraceError that names the line."""
    try:
        yield
    except TraceError:
        raise
    except Exception as error:
        # Any exception: a step from a state that no member can be in may fail in any way.
        writer = excerpt(str(section.header.get("client")))
        text = f"{section.path}, line {line}: {excerpt(_words(error))}; it was written by version {writer}."
        raise TraceError(text) from error


def _words(error: Exception) -> str:
    """A clause without its full stop."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing, or this version does not know it"
    if isinstance(error, MembershipError):
        return error.detail.rstrip(".")
    if isinstance(error, ValueError | TypeError):
        return str(error)
    return f"this version cannot take this step ({type(error).__name__}: {error})"


_LATEST_S = 1e11
"""Some thousand years: datetime has no later dates."""


def checked(section: Section) -> Section:
    """The section itself, if its header says whose trace it is and all its times are times. TraceError names the bad line."""
    header = section.header
    with reading(section, section.line):
        for key in ("group", "member", "host"):
            decode(str, header[key])
        decode(str | None, header["instance"])
        for key in ("pod", "spark"):
            decode(str | None, header.get(key))
        decode(int, header["pid"])
        _check_count(decode(int, header.get("dropped", 0)))
        check_time_of_day(header["wall"])
        decode(float, header["at"])
    for line, entry in enumerate(section.entries, section.line + 1):
        with reading(section, line):
            decode(float, entry["at"])
            decode(float, entry.get("jumped", 0.0))
    return section


def _check_count(steps: int) -> None:
    if steps < 0:
        raise ValueError(f"{steps} is no number of steps")


def check_time_of_day(shown: Json) -> None:
    """ValueError if this is not a date, with room for times before and after it."""
    if not isinstance(shown, float | int) or isinstance(shown, bool) or not -LONGEST_S < shown < _LATEST_S:
        raise ValueError(f"{shown!r} is no time of day")
