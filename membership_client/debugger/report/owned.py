"""One holding of a partition, with whose it was and why it began and ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.debugger.model.holdings import Holding
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.report.member_lanes import cause_of
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.scene import Ownership
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Owned:
    partition: TopicPartition
    life: Life
    span: Ownership
    ends: bool
    """False if nobody knows whether it went on: its trace was saved meanwhile, or all traces end."""


def owned_by(life: Life, presence: Presence, lane: int) -> Iterator[Owned]:
    # By identity: a holding begins and ends with the very moment in which a callback returned.
    causes = {id(call.last): cause_of(call) for call in life.calls if call.returned}
    for holding in life.holdings:
        ended = presence.until if holding.is_open else holding.ended.time
        span = Ownership(
            began=holding.began.time,
            ended=max(ended, holding.began.time),
            owner=lane,
            epoch=holding.began.epoch,
            reason=causes.get(id(holding.began), "owned when the trace began"),
            ending=_ending(holding, life, presence) or causes.get(id(holding.ended), ""),
        )
        ends = not holding.is_open or presence.vanished or life.stop is not None
        yield Owned(holding.partition, life, span, ends)


def _ending(holding: Holding, life: Life, presence: Presence) -> str:
    """Why it ended without a callback."""
    if not holding.is_open:
        return ""
    if presence.vanished:
        return "the trace ends: the process was killed or stopped, or the rest is missing"
    return "closed without giving it back" if life.stop is not None else "still owned when its trace ends"
