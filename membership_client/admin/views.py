"""A group as its coordinator describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member. In a classic group epochs are None, and the target is the current assignment."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    epoch: int | None
    current: frozenset[TopicPartition]
    target: frozenset[TopicPartition]

    @property
    def name(self) -> str:
        """The instance id, or else the member id."""
        return self.instance_id or self.member_id

    @property
    def to_release(self) -> frozenset[TopicPartition]:
        """What it still has and should give up."""
        return self.current - self.target


@dataclass(frozen=True, slots=True)
class Wait:
    """Members wait for one that has not released what they are to get."""

    holder: MemberView
    partitions: frozenset[TopicPartition]
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    group_id: str
    protocol: Literal["consumer", "classic"]
    state: str
    epoch: int | None
    assignment_epoch: int | None
    assignor: str
    members: tuple[MemberView, ...]
    lag: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Records behind the end, of partitions with a committed offset."""

    def waits(self) -> tuple[Wait, ...]:
        """Who holds back whom. In a classic group the coordinator does not tell."""
        return tuple(wait for member in self.members if (wait := self._wait_for(member)) is not None)

    def _wait_for(self, holder: MemberView) -> Wait | None:
        wanted = {m.name: m.target & holder.to_release for m in self.members if m is not holder}
        waiting = tuple(sorted(name for name, partitions in wanted.items() if partitions))
        return Wait(holder, holder.to_release, waiting) if holder.to_release else None
