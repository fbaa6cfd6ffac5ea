"""One period in which a run owned a partition, and why it began and ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.owned_periods import OwnedPeriod
from membership_client.debugger.report.content import OwnedSpan
from membership_client.debugger.report.member_lanes import cause_of
from membership_client.debugger.report.presence import Presence
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Owned:
    partition: TopicPartition
    run: MemberRun
    span: OwnedSpan
    ends: bool
    """False if it may have gone on: its trace was saved meanwhile, or all traces end."""


def owned_by(run: MemberRun, presence: Presence, lane: int) -> Iterator[Owned]:
    # By identity: a period begins and ends with the very entry in which a callback returned.
    causes = {id(call.last): cause_of(call) for call in run.calls if call.returned}
    for period in run.owned_periods:
        ended = presence.until if period.is_open else period.ended.time
        span = OwnedSpan(
            began=period.began.time,
            ended=max(ended, period.began.time),
            owner=lane,
            epoch=period.began.epoch,
            reason=causes.get(id(period.began), "owned when the trace began"),
            ending=_ending(period, run, presence) or causes.get(id(period.ended), ""),
        )
        ends = not period.is_open or presence.vanished or run.stop is not None
        yield Owned(period.partition, run, span, ends)


def _ending(period: OwnedPeriod, run: MemberRun, presence: Presence) -> str:
    """Why it ended without a callback."""
    if not period.is_open:
        return ""
    if presence.vanished:
        return "the trace ends: the process was killed or stopped, or the rest is missing"
    return "closed without giving it back" if run.stop is not None else "still owned when its trace ends"
