"""The trace of a member: its steps, always kept in memory, on request also in a file, and exact enough to be replayed."""

import typing

from membership_client.trace.journal import Journal

if typing.TYPE_CHECKING:
    from membership_client.trace.reading import Section, TraceError, read_trace

__all__ = ["Journal", "Section", "TraceError", "read_trace"]


def __getattr__(name: str) -> typing.Any:
    """The readers of traces are loaded when they are first used: members only write traces."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from membership_client.trace import reading  # noqa: PLC0415 - loaded at its first use

    return getattr(reading, name)
