"""Finds out whether a member is alive, from what the coordinator shows of it.

Coordinators do not report the time of a member's last heartbeat. They show what a live member does: its epoch changes, its
partitions change (in a classic group the leader changes them), it commits offsets, it joins again. A member that commits
nothing while records wait in its partitions looks dead. A member without records to read shows neither, so it may be alive.
A KIP-848 member that is still there after a whole session timeout has sent heartbeats.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from membership_client.admin.views import LEFT_TEMPORARILY, GroupView, MemberView
from membership_client.partition_text import named


class Life(enum.Enum):
    ALIVE = "looks alive"
    UNKNOWN = "may be alive"
    GONE = "looks dead"


@dataclass(frozen=True, slots=True)
class Sign:
    """Whether a member is alive, as far as can be seen, and the observation that shows it."""

    life: Life
    why: str


class Signs:
    """Compares successive views of one group. Every view needs committed offsets, and the first one its lag."""

    def __init__(self, view: GroupView, now: float, session_timeout_s: float | None) -> None:
        self._first, self._began, self._session_timeout_s = view, now, session_timeout_s
        self._watched_s = 0.0
        self._alive: dict[str, str] = {}
        self._away: set[str] = set()
        self._left: set[str] = set()
        self._note_absent(view)

    @property
    def settled(self) -> frozenset[str]:
        """Names of members whose sign will not change: alive, left, or left temporarily."""
        return frozenset(self._alive) | self._away | self._left

    def see(self, view: GroupView, now: float) -> None:
        self._watched_s = now - self._began
        self._note_absent(view)
        found = {member.name: member for member in view.members}
        for before in self._first.members:
            after = found.get(before.name)
            if after is not None and (sign := self._sign(before, after, view) or self._outlived(after)):
                self._alive.setdefault(before.name, sign)

    def of(self, member: MemberView) -> Sign:
        if member.name in self._left:
            return Sign(Life.GONE, "it is no longer a member")
        if member.name in self._away:
            return Sign(Life.GONE, "it has left temporarily")
        if member.name in self._alive:
            return Sign(Life.ALIVE, self._alive[member.name])
        seen = f"it committed nothing in {self._watched_s:.0f} s"
        if waiting := {p: lag for p, lag in self._first.lag.items() if p in member.current and lag}:
            return Sign(Life.GONE, f"{seen}, and {sum(waiting.values())} records of {named(waiting)} wait for it")
        return Sign(Life.UNKNOWN, f"{seen}, but no records are known to wait for it")

    def _note_absent(self, view: GroupView) -> None:
        self._away = {member.name for member in view.members if member.epoch == LEFT_TEMPORARILY}
        self._left = {member.name for member in self._first.members} - {member.name for member in view.members}

    def _sign(self, before: MemberView, after: MemberView, view: GroupView) -> str | None:
        if before.member_id != after.member_id:
            return f"it joined again, as {after.member_id}"
        if before.epoch != after.epoch:
            return f"its epoch moved from {before.epoch} to {after.epoch}"
        if before.current != after.current and not after.is_classic:
            return "its partitions changed"
        both = before.current & after.current
        moved = [p for p in both if self._first.committed.get(p) != view.committed.get(p)]
        return f"it committed offsets of {named(moved)}" if moved else None

    def _outlived(self, member: MemberView) -> str | None:
        """The sign of a member that stayed longer than a session; never for classic members, whose timeout is not reported."""
        if self._session_timeout_s is None or member.is_classic or self._watched_s <= self._session_timeout_s:
            return None
        return f"it is still there after a session timeout of {self._session_timeout_s:g} s, so it sends heartbeats"
