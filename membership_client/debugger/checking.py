"""What all that follows takes for granted of a trace: a header that says whose it is, and times that are times."""

from __future__ import annotations

from membership_client.debugger.decoding import reading
from membership_client.trace.reading import Section
from membership_client.trace.values import Json, decode

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
        _check_time(header["wall"])
        _check_time(header["at"])
    for line, entry in enumerate(section.entries, section.line + 1):
        with reading(section, line):
            _check_time(entry["at"])
    return section


def _check_time(shown: Json) -> None:
    if not isinstance(shown, float | int) or not abs(shown) < _LATEST_S:
        raise ValueError(f"{shown!r} is no time")
