"""Times in which a partition belonged to nobody that the traces know, between two owners or after the last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.debugger.model.holdings import Holding
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.memberships import Ending
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.uncovered_time import uncovered
from membership_client.types import MemberState, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Void:
    """From the end of one holding to the beginning of another; times of day of two machines, if there are two."""

    partition: TopicPartition
    before: Life
    held: Holding
    after: Life | None = None
    taken: Holding | None = None
    until: float
    """When it was taken, or when the group's traces end."""

    @property
    def began(self) -> float:
        return self.held.ended.time

    @property
    def lasted_s(self) -> float:
        return self.until - self.began

    @property
    def ending(self) -> Ending | None:
        """How its last owner came to leave the group, if that is why it owned it no more; None if it stayed on."""
        if self.held.is_open:
            return Ending.OPEN
        ended = self.held.ended
        stay = next((stay for stay in reversed(self.before.stays) if stay.first.at <= ended.at), None)
        went = stay is not None and (ended.at >= stay.last.at or ended.state_before is MemberState.LEAVING)
        return stay.ending if stay is not None and went else None


def voids_of(group: Group) -> Iterator[Void]:
    """By partition and time, however short."""
    held: dict[TopicPartition, list[tuple[Life, Holding]]] = defaultdict(list)
    for life in group.lives:
        for holding in life.holdings:
            held[holding.partition].append((life, holding))
    until = max(life.ended for life in group.lives)
    for partition, owners in sorted(held.items()):
        yield from _between(partition, owners, until)


def _between(partition: TopicPartition, owners: list[tuple[Life, Holding]], until: float) -> Iterator[Void]:
    owners.sort(key=lambda owner: (owner[1].began.time, owner[0].member_id))
    for (life, held), following in uncovered(owners, lambda o: o[1].began.time, lambda o: o[1].ended.time):
        after, taken = following or (None, None)
        taken_at = until if taken is None else taken.began.time
        yield Void(partition=partition, before=life, held=held, after=after, taken=taken, until=taken_at)
