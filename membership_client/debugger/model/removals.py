"""Which line of a broker's log tells of a fence: by its time, whatever the zone the broker's clock shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from membership_client.debugger.model.broker_log import RemovalLine
from membership_client.debugger.model.trace_entry import TraceEntry

_ZONE_S = 900.0
"""Zones differ by quarters of an hour."""


@dataclass(frozen=True, slots=True)
class BrokerLogLines:
    """What brokers' logs say of one member."""

    lines: tuple[RemovalLine, ...] = ()
    slack_s: float = 0.0
    """By how much the clocks may differ, and how long an answer may have been on its way."""

    def between(self, confirmed_at: float, fenced: TraceEntry) -> RemovalLine | None:
        """The nearest line that was written after the coordinator last confirmed the member, and before it knew."""
        since_s = confirmed_at - fenced.at - self.slack_s
        found = [line for line in self.lines if line.time is None or since_s <= _apart_s(line, fenced) <= self.slack_s]
        return min(found, key=lambda line: abs(_apart_s(line, fenced)), default=None)


def _apart_s(line: RemovalLine, fenced: TraceEntry) -> float:
    """How long after the fence was known it was written; 0 if it does not say when."""
    if line.time is None:
        return 0.0
    return (line.time - fenced.time + _ZONE_S / 2) % _ZONE_S - _ZONE_S / 2


def lines_about(
    lines: Iterable[RemovalLine], group: str, ids: frozenset[str], instance_id: str | None
) -> tuple[RemovalLine, ...]:
    """By the member's id, or by its instance id where the line has no other."""
    named = (line for line in lines if line.group == group)
    return tuple(line for line in named if line.member_id in ids or _names(line, instance_id))


def _names(line: RemovalLine, instance_id: str | None) -> bool:
    return not line.member_id and instance_id is not None and line.instance_id == instance_id
