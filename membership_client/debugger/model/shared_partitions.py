"""Times in which two members owned the same partition."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import OwnedPeriod
from membership_client.debugger.model.timeline import Group
from membership_client.types import TopicPartition

_SAME_CLOCK_S = 0.1
"""How exactly two processes of one machine know when something happened: each takes note of it when it gets the processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPeriod:
    """A partition with two owners, by the clocks of their machines."""

    partition: TopicPartition
    stale: MemberRun
    """The owner on which the group no longer counted: it got the partition under an older epoch."""
    held: OwnedPeriod
    owner: MemberRun
    taken: OwnedPeriod

    @property
    def began(self) -> float:
        return max(self.held.began.time, self.taken.began.time)

    @property
    def ended(self) -> float:
        """A trace that ends does not tell for how long its member went on as an owner."""
        return min(self.held.ended.time, self.taken.ended.time)

    @property
    def lasted_s(self) -> float:
        return self.ended - self.began

    @property
    def uncertainty_s(self) -> float:
        """By how much `lasted_s` may be wrong: see `MemberRun.uncertainty_s`."""
        return self.stale.uncertainty_s(self.owner, self.began, self.ended)


@functools.lru_cache(maxsize=1)
def shared_periods_of(group: Group) -> tuple[SharedPeriod, ...]:
    """By partition and time; without times that clocks which differ would explain."""
    held: dict[TopicPartition, list[tuple[MemberRun, OwnedPeriod]]] = defaultdict(list)
    for run in group.runs:
        for period in run.owned_periods:
            held[period.partition].append((run, period))
    return tuple(shared for partition, owners in sorted(held.items()) for shared in _of_partition(partition, owners))


def _of_partition(partition: TopicPartition, owners: list[tuple[MemberRun, OwnedPeriod]]) -> Iterator[SharedPeriod]:
    there: list[tuple[MemberRun, OwnedPeriod]] = []
    for run, period in sorted(owners, key=lambda owner: (owner[1].began.time, owner[0].member_id)):
        there = [(other, earlier) for other, earlier in there if earlier.ended.time > period.began.time]
        for other, earlier in there:
            if other is not run:
                shared = _shared(partition, (other, earlier), (run, period))
                if shared.lasted_s > max(_SAME_CLOCK_S, shared.uncertainty_s):
                    yield shared
        there.append((run, period))


def _shared(
    partition: TopicPartition, first: tuple[MemberRun, OwnedPeriod], second: tuple[MemberRun, OwnedPeriod]
) -> SharedPeriod:
    (stale, held), (owner, taken) = sorted((first, second), key=lambda each: _epoch(each[1]))
    return SharedPeriod(partition=partition, stale=stale, held=held, owner=owner, taken=taken)


def _epoch(period: OwnedPeriod) -> int:
    """Under which its owner got it. A callback that returns after a fence finds no epoch: that owner is never the newer one."""
    return period.began.epoch
