"""What happened to a member, as data: always kept in memory, on request in a file, exact enough to be replayed."""

from membership_client.trace.journal import Journal
from membership_client.trace.reading import Section, TraceError, read_trace

__all__ = ["Journal", "Section", "TraceError", "read_trace"]
