"""Values out of a trace, or the line that has none."""

from __future__ import annotations

from typing import Any

from membership_client.trace.reading import Section, TraceError
from membership_client.trace.values import Json, decode


def decoded(section: Section, line: int, kind: Any, data: Json) -> Any:
    """TraceError names the line, and the version that wrote it."""
    try:
        return decode(kind, data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"{section.path}, line {line}: {error!r}; it was written by version {section.header.get('client')}."
        raise TraceError(text) from error
