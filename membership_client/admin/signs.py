"""What shows, from outside, whether a member lives.

Coordinators do not tell when a member sent its last heartbeat. What can be seen is what a live member causes: its epoch
moves, it gives up or takes partitions (in a classic group others do that for it), offsets of its partitions are
committed, it joins again. Records that wait for a member which commits nothing speak against it. An idle member of a quiet
group shows neither, so it may be alive; only one of KIP-848 that is watched for longer than a session and is still there
has certainly sent heartbeats.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from membership_client.admin.commands.words import named
from membership_client.admin.views import LEFT_TEMPORARILY, GroupView, MemberView


class Life(enum.Enum):
    ALIVE = "looks alive"
    UNKNOWN = "may be alive"
    GONE = "looks dead"


@dataclass(frozen=True, slots=True)
class Sign:
    """Whether a member lives, as far as can be seen, and what was seen."""

    life: Life
    why: str


class Signs:
    """Looks at one group again and again. Every view must have its committed offsets, and the first its lag."""

    def __init__(self, view: GroupView, now: float, session_timeout_s: float | None) -> None:
        self._first, self._began, self._session_timeout_s = view, now, session_timeout_s
        self._watched_s = 0.0
        self._alive: dict[str, str] = {}
        self._away: set[str] = set()
        self._left: set[str] = set()
        self._note_absent(view)

    @property
    def settled(self) -> frozenset[str]:
        """Those of whom no more need be seen, by instance id or else member id."""
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
            return Sign(Life.GONE, "it is no member any more")
        if member.name in self._away:
            return Sign(Life.GONE, "it has left for a while, and said so")
        if member.name in self._alive:
            return Sign(Life.ALIVE, self._alive[member.name])
        seen = f"it committed nothing in {self._watched_s:.0f} s"
        if waiting := {p: lag for p, lag in self._first.lag.items() if p in member.current and lag}:
            return Sign(Life.GONE, f"{seen}, and {sum(waiting.values())} records of {named(waiting)} wait for it")
        return Sign(Life.UNKNOWN, f"{seen}, but nothing is known to wait for it")

    def _note_absent(self, view: GroupView) -> None:
        self._away = {member.name for member in view.members if member.epoch == LEFT_TEMPORARILY}
        self._left = {member.name for member in self._first.members} - {member.name for member in view.members}

    def _sign(self, before: MemberView, after: MemberView, view: GroupView) -> str | None:
        if before.member_id != after.member_id:
            return f"it joined again, as {after.member_id}"
        if before.epoch != after.epoch:
            return f"its epoch moved from {before.epoch} to {after.epoch}"
        if before.current != after.current and not after.is_classic:
            return "what it has changed"
        both = before.current & after.current
        moved = [p for p in both if self._first.committed.get(p) != view.committed.get(p)]
        return f"it committed offsets of {named(moved)}" if moved else None

    def _outlived(self, member: MemberView) -> str | None:
        """A classic member's session timeout is its own, and not told."""
        if self._session_timeout_s is None or member.is_classic or self._watched_s <= self._session_timeout_s:
            return None
        return f"it is still there after a session timeout of {self._session_timeout_s:g} s, so it sends heartbeats"
