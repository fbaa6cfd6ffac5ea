"""Which partitions a run owned, from when to when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedPeriod:
    """From the return of the assigned callback to the return of the one that took it away."""

    partition: TopicPartition
    began: TraceEntry
    """Or the first entry of the trace, if it was owned then."""
    ended: TraceEntry
    """Or the last entry of the trace, if it was still owned then."""
    is_open: bool
    """Nothing says that it ended."""


def owned_periods_of(steps: Sequence[TraceEntry], entries: Sequence[TraceEntry]) -> tuple[OwnedPeriod, ...]:
    """In the order they ended."""
    if not steps:
        return ()
    since = dict.fromkeys(sorted(steps[0].owned_before), entries[0])
    found: list[OwnedPeriod] = []
    for step in steps:
        gone = sorted(set(since) - step.owned)
        found += [OwnedPeriod(partition=p, began=since.pop(p), ended=step, is_open=False) for p in gone]
        since |= dict.fromkeys(sorted(step.owned - set(since)), step)
    found += [OwnedPeriod(partition=p, began=began, ended=entries[-1], is_open=True) for p, began in since.items()]
    return tuple(found)
