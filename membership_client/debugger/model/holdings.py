"""Which partitions a run owned, from when to when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.debugger.model.history_step import Moment
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """From the return of the assigned callback to the return of the one that took it away."""

    partition: TopicPartition
    began: Moment
    """Or the first moment there is, if it was owned then."""
    ended: Moment
    """Or the last moment there is, if it was owned then."""
    is_open: bool
    """Nothing says that it ended."""


def holdings_of(steps: Sequence[Moment], moments: Sequence[Moment]) -> tuple[Holding, ...]:
    """In the order they ended."""
    if not steps:
        return ()
    since = dict.fromkeys(sorted(steps[0].owned_before), moments[0])
    found: list[Holding] = []
    for step in steps:
        gone = sorted(set(since) - step.owned)
        found += [Holding(partition=p, began=since.pop(p), ended=step, is_open=False) for p in gone]
        since |= dict.fromkeys(sorted(step.owned - set(since)), step)
    found += [Holding(partition=p, began=began, ended=moments[-1], is_open=True) for p, began in since.items()]
    return tuple(found)
