"""What happened to a member, as data: always kept in memory, on request in a file, exact enough to be replayed."""

import typing

from membership_client.trace.journal import Journal

if typing.TYPE_CHECKING:
    from membership_client.trace.reading import Section, TraceError, read_trace

__all__ = ["Journal", "Section", "TraceError", "read_trace"]


def __getattr__(name: str) -> typing.Any:
    """The readers of traces are loaded when they are first used: members only write traces."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from membership_client.trace import reading  # noqa: PLC0415 - that is the point

    return getattr(reading, name)
