"""Values out of a trace, or the line that has none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from membership_client.core.member import Member
from membership_client.trace.reading import Section, TraceError
from membership_client.trace.values import Json, decode


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
    """What is not as this version writes it becomes a TraceError, with the line."""
    try:
        yield
    except TraceError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, AssertionError) as error:
        text = f"{section.path}, line {line}: {error!r}; it was written by version {section.header.get('client')}."
        raise TraceError(text) from error
