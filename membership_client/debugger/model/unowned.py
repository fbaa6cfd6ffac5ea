"""Times in which a partition had no owner in the traces: between two owners, or after the last one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import LOST, MembershipEnd, OwnedPeriod
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.types import MemberState, TopicPartition

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnownedPeriod:
    """A partition without an owner, from its last owner to its next one; by the clocks of their machines."""

    partition: TopicPartition
    before: MemberRun
    held: OwnedPeriod
    after: MemberRun | None = None
    taken: OwnedPeriod | None = None
    until: float
    """When it was taken, or when the group's traces end."""
    until_by: MemberRun
    """By whose clock."""

    @property
    def began(self) -> float:
        return self.held.ended.time

    @property
    def lasted_s(self) -> float:
        return self.until - self.began

    @property
    def uncertainty_s(self) -> float:
        """By how much `lasted_s` may be wrong: see `MemberRun.uncertainty_s`."""
        return self.before.uncertainty_s(self.until_by, self.began, self.until)

    @property
    def ending(self) -> MembershipEnd | None:
        """How its last owner left the group, if it did; None if it stayed, and only gave up the partition."""
        if self.held.is_open:
            return MembershipEnd.OPEN
        ended = self.held.ended
        membership = next(
            (membership for membership in reversed(self.before.memberships) if membership.first.at <= ended.at), None
        )
        went = membership is not None and (ended.at >= membership.last.at or ended.state_before is MemberState.LEAVING)
        return membership.ending if membership is not None and went else None


def unowned_periods_of(group: Group) -> Iterator[UnownedPeriod]:
    """By partition and time, however short."""
    held: dict[TopicPartition, list[tuple[MemberRun, OwnedPeriod]]] = defaultdict(list)
    for run in group.runs:
        for period in run.owned_periods:
            held[period.partition].append((run, period))
    longest = max(group.runs, key=lambda run: run.ended)
    for partition, owners in sorted(held.items()):
        yield from _between(partition, owners, longest)


def _between(
    partition: TopicPartition, owners: list[tuple[MemberRun, OwnedPeriod]], longest: MemberRun
) -> Iterator[UnownedPeriod]:
    owners.sort(key=lambda owner: (owner[1].began.time, owner[0].member_id))
    for (run, held), following in uncovered(owners, lambda o: o[1].began.time, lambda o: o[1].ended.time):
        after, taken = following or (None, None)
        until = longest.ended if taken is None else taken.began.time
        yield UnownedPeriod(
            partition=partition,
            before=run,
            held=held,
            after=after,
            taken=taken,
            until=until,
            until_by=after or longest,
        )


def uncovered(
    items: Sequence[_T], began: Callable[[_T], float], ended: Callable[[_T], float]
) -> Iterator[tuple[_T, _T | None]]:
    """Pairs of intervals with uncovered time between them; the last pair is the one that ends last, and None.

    `items` are intervals by when each began, and at least one.
    """
    last = items[0]
    for following in items[1:]:
        if began(following) > ended(last):
            yield last, following
        if ended(following) >= ended(last):
            last = following
    yield last, None


@dataclass(frozen=True, slots=True)
class UnownedTotal:
    """How long a partition had no owner, all times together; by the clocks of its owners' machines."""

    partition: TopicPartition
    total_s: float
    longest_s: float
    times: int


def unowned_totals_of(group: Group) -> list[UnownedTotal]:
    """Of each partition that lost its owner; the longest first."""
    found: dict[TopicPartition, list[float]] = defaultdict(list)
    for period in unowned_periods_of(group):
        if _counts(group, period):
            found[period.partition].append(period.lasted_s)
    totals = [UnownedTotal(partition, sum(each), max(each), len(each)) for partition, each in found.items()]
    return sorted(totals, key=lambda total: (-total.total_s, total.partition))


def _counts(group: Group, period: UnownedPeriod) -> bool:
    """It was owned again later, or its owner was lost. After a revoke, a member without a trace may own it."""
    lost = period.ending in LOST or (period.ending is MembershipEnd.OPEN and ended_without_close(group, period.before))
    return period.after is not None or lost
