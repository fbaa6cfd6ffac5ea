"""How many members of a group have moved from one protocol to the other, from successive descriptions of the group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from membership_client.admin.views import GroupView, MemberView

Protocol = Literal["consumer", "classic"]

GONE_S = 60.0
"""A member that left counts as missing for this time, because it may be restarting."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A group that moves, at one moment."""

    view: GroupView
    to: Protocol
    still_s: float = 0.0
    """Seconds since the numbers of members of both protocols last changed."""
    most: int = 0
    """The largest number of members that was observed."""

    @property
    def left(self) -> tuple[MemberView, ...]:
        """The members that have not moved."""
        return tuple(member for member in self.view.members if member.is_classic is (self.to == "consumer"))

    @property
    def moved(self) -> int:
        return len(self.view.members) - len(self.left)

    @property
    def is_done(self) -> bool:
        """The group has members, all of them have moved, none waits for another, and none is missing."""
        has_moved = bool(self.view.members) and not self.left and self.view.protocol == self.to
        return has_moved and self.view.state == "Stable" and not self.missing

    @property
    def missing(self) -> int:
        """How many members fewer there are than before. They may be starting."""
        return max(0, self.most - len(self.view.members)) if self.still_s < GONE_S else 0


class MigrationWatch:
    """Remembers since when the number of moved members has been the same."""

    def __init__(self, to: Protocol) -> None:
        self._to = to
        self._count: tuple[int, int] | None = None
        self._since = 0.0
        self._most = 0

    def see(self, view: GroupView, now: float) -> Migration:
        seen = Migration(view, self._to)
        if (count := (seen.moved, len(seen.left))) != self._count:
            self._count, self._since = count, now
        self._most = max(self._most, len(view.members))
        return Migration(view, self._to, now - self._since, self._most)
