"""What shows, from outside, that a member lives.

Coordinators do not tell when a member sent its last heartbeat. What can be seen is what a live member causes: its epoch
moves, it gives up or takes partitions (in a classic group others do that for it), offsets of its partitions are
committed, it joins again. A member that is idle in a quiet group causes none of that, so seeing nothing proves nothing,
with one exception: a member of KIP-848 that is watched for longer than a session and is still there has sent heartbeats.
"""

from __future__ import annotations

from membership_client.admin.views import LEFT_TEMPORARILY, GroupView, MemberView
from membership_client.admin.words import named


class Signs:
    """Looks at one group again and again; each view must have its committed offsets."""

    def __init__(self, view: GroupView, now: float, session_timeout_s: float | None) -> None:
        self._first, self._began, self._session_timeout_s = view, now, session_timeout_s
        self.of: dict[str, str] = {}
        """What was seen, as a sentence, by the name of the member: instance id or else member id."""

    def see(self, view: GroupView, now: float) -> None:
        watched_s = now - self._began
        for before in self._first.members:
            after = next((member for member in view.members if member.name == before.name), None)
            if after is None or after.epoch == LEFT_TEMPORARILY:
                self.of.pop(before.name, None)
            elif sign := self._sign(before, after, view) or self._outlived(after, watched_s):
                self.of.setdefault(before.name, sign)

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

    def _outlived(self, member: MemberView, watched_s: float) -> str | None:
        """A classic member's session timeout is its own, and not told."""
        if self._session_timeout_s is None or member.is_classic or watched_s <= self._session_timeout_s:
            return None
        return f"it is still there after a session timeout of {self._session_timeout_s:g} s, so it sends heartbeats"
