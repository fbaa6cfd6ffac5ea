"""Values out of a trace, or the line that has none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from membership_client.cli.terminal_text import excerpt
from membership_client.core.member import Member
from membership_client.errors import MembershipError
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
    except Exception as error:
        # Any: a step of a state that no member was ever in may fail in any way.
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
