"""Members that may have raised an epoch for which the traces show no reason: they were killed or fenced shortly before."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from membership_client.core.events import Heartbeat, JoinGroup, Send
from membership_client.debugger.model.epochs import GroupRebalance, confirmed_time, rebalances_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import MembershipEnd
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.model.trace_entry import TraceEntry

_SESSION_S = 60.0
"""The longest session of KIP-848 that brokers allow by default (group.consumer.max.session.timeout.ms): members do not know theirs."""


class SilentEnd(NamedTuple):
    """A member was killed or fenced. Its session ended at some time after its last heartbeat; its trace does not show when."""

    run: MemberRun
    entry: TraceEntry
    """Its last step in the group."""
    since: float
    """When the coordinator heard of it for the last time."""


def silent_ends_before(group: Group, rebalance: GroupRebalance) -> list[SilentEnd]:
    """Those whose sessions may have ended when the epoch was reached; the latest first."""
    ends = [end for end in _silent_ends(group) if not _had_ended(group, end, rebalance.epoch)]
    return sorted((end for end in ends if _may_have_ended(group, end, rebalance)), key=lambda end: -end.since)


def _had_ended(group: Group, end: SilentEnd, epoch: int) -> bool:
    """Had others got its partitions in an earlier epoch? Then its session had raised that one, or one before."""
    inherited = _inherited_epochs(group).get((end.run, end.entry.at))
    return inherited is not None and inherited < epoch


def _may_have_ended(group: Group, end: SilentEnd, rebalance: GroupRebalance) -> bool:
    first = min(rebalance.arrivals, key=lambda arrival: arrival.entry.time)
    passed_s = first.entry.time - end.since
    doubt_s = max(group.skew_s, end.run.uncertainty_s(first.run, end.since, first.entry.time))
    return end.run is not first.run and -doubt_s <= passed_s <= _longest_s(end.run) + doubt_s


def _longest_s(run: MemberRun) -> float:
    """From a member's last heartbeat to the epoch that its end raised: others hear of that with a heartbeat."""
    if run.is_classic:
        # The group waits for the others to join again: each may take as long as its poll interval.
        return run.start.config.session_timeout_ms / 1000 + run.poll_interval_s
    return _SESSION_S + run.interval_s


@functools.lru_cache(maxsize=1)
def _inherited_epochs(group: Group) -> dict[tuple[MemberRun, float], int]:
    """By member and last step: the epoch in which others got its partitions."""
    return {
        (trigger.run, trigger.entry.at): rebalance.epoch
        for rebalance in rebalances_of(group)
        for trigger in rebalance.triggers
        if not trigger.by_clock
    }


@functools.lru_cache(maxsize=1)
def _silent_ends(group: Group) -> tuple[SilentEnd, ...]:
    return tuple(end for run in group.runs for end in _silent_ends_of(group, run))


def _silent_ends_of(group: Group, run: MemberRun) -> Iterator[SilentEnd]:
    """One that asked to join, and was killed before it heard that it was let in, is in no epoch: but its join raised one."""
    for membership in run.memberships:
        if membership.ending is MembershipEnd.FENCED:
            yield SilentEnd(run, membership.last, confirmed_time(run, membership))
    if _has_asked(run) and ended_without_close(group, run):
        yield SilentEnd(run, run.steps[-1], run.ended)


def _has_asked(run: MemberRun) -> bool:
    return any(isinstance(send.request, Heartbeat | JoinGroup) for step in run.steps for send in step.effects_of(Send))
