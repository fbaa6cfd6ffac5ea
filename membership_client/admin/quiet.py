"""Members that commit nothing while records wait for them, from successive descriptions of one group.

A coordinator does not report when a member sent its last heartbeat. A member that is stopped, or stuck at one record, is
still a member, and its group waits for no member. Only its committed offsets show the trouble, because they do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from membership_client.admin.views import LEFT_TEMPORARILY, GroupView, MemberView
from membership_client.types import Offset, TopicPartition

QUIET_S = 6.0
"""A member is quiet after this time: clients that commit automatically do so every 5 s by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietMember:
    """A member that commits nothing although records wait for it."""

    member: MemberView
    waiting: Mapping[TopicPartition, int]
    """The number of records that wait for the member, by partition."""
    seen_s: float
    """Seconds for which the member has been observed to commit nothing while records waited."""

    @property
    def records(self) -> int:
        return sum(self.waiting.values())


@dataclass(frozen=True, slots=True)
class _LastWork:
    """A member as it was when it last showed a sign of work, and the ends of its partitions then."""

    member: MemberView
    committed: Mapping[TopicPartition, Offset]
    ends: Mapping[TopicPartition, int]
    since: float


class QuietMembers:
    """Remembers when each member last showed a sign of work. Every view needs committed offsets and ends."""

    def __init__(self) -> None:
        self._known: dict[str, _LastWork] = {}

    def see(self, view: GroupView, now: float) -> tuple[QuietMember, ...]:
        """The members that have been quiet for QUIET_S, those with the most records first."""
        self._known = {member.member_id: self._last_work(member, view, now) for member in view.members}
        found = (self._quiet(member, view, now) for member in view.members)
        return tuple(sorted((quiet for quiet in found if quiet is not None), key=lambda quiet: -quiet.records))

    def _last_work(self, member: MemberView, view: GroupView, now: float) -> _LastWork:
        known = self._known.get(member.member_id)
        committed = {place: offset for place, offset in view.committed.items() if place in member.current}
        if known is not None and _shows_nothing(known, member, committed) and _waiting(known, view):
            return known
        ends = {place: end for place, end in view.ends.items() if place in member.current}
        return _LastWork(member, committed, ends, now)

    def _quiet(self, member: MemberView, view: GroupView, now: float) -> QuietMember | None:
        known = self._known[member.member_id]
        waiting, seen_s = _waiting(known, view), now - known.since
        if not waiting or seen_s < QUIET_S or member.epoch == LEFT_TEMPORARILY:
            return None
        return QuietMember(member=member, waiting=waiting, seen_s=seen_s)


def _shows_nothing(known: _LastWork, member: MemberView, committed: Mapping[TopicPartition, Offset]) -> bool:
    return (member.epoch, member.current, committed) == (known.member.epoch, known.member.current, known.committed)


def _waiting(known: _LastWork, view: GroupView) -> dict[TopicPartition, int]:
    """Records that wait for the member. In a partition without a committed offset only records count that came since the first view."""
    counts = {
        place: view.ends[place] - (known.committed[place].offset if place in known.committed else end)
        for place, end in known.ends.items()
        if place in view.ends
    }
    return {place: count for place, count in counts.items() if count > 0}
