"""What all that follows takes for granted of a trace: a header that says whose it is, and times that are times."""

from __future__ import annotations

from membership_client.debugger.model.decoding import reading
from membership_client.trace.reading import Section
from membership_client.trace.values import LONGEST_S, Json, decode

_LATEST_S = 1e11
"""Some thousand years: beyond it no date can be told."""


def checked(section: Section) -> Section:
    """TraceError names the line that is not so."""
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
    """ValueError if there is no such date, also a while before and after it."""
    if not isinstance(shown, float | int) or isinstance(shown, bool) or not -LONGEST_S < shown < _LATEST_S:
        raise ValueError(f"{shown!r} is no time of day")
