"""How far a group has moved from one protocol to the other, from successive descriptions of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from membership_client.admin.views import GroupView, MemberView

Protocol = Literal["consumer", "classic"]


@dataclass(frozen=True, slots=True)
class Migration:
    """One look at a group that moves."""

    view: GroupView
    to: Protocol
    still_s: float = 0.0
    """Seconds since the number of members of either protocol was first observed as it is now."""

    @property
    def left(self) -> tuple[MemberView, ...]:
        """The members that have not moved."""
        return tuple(member for member in self.view.members if member.is_classic is (self.to == "consumer"))

    @property
    def moved(self) -> int:
        return len(self.view.members) - len(self.left)

    @property
    def is_done(self) -> bool:
        """The group has members, all of them have moved, and none waits for another."""
        return (
            bool(self.view.members) and not self.left and self.view.protocol == self.to and self.view.state == "Stable"
        )


class MigrationWatch:
    """Remembers since when as many members as now have moved."""

    def __init__(self, to: Protocol) -> None:
        self._to = to
        self._count: tuple[int, int] | None = None
        self._since = 0.0

    def see(self, view: GroupView, now: float) -> Migration:
        seen = Migration(view, self._to)
        if (count := (seen.moved, len(seen.left))) != self._count:
            self._count, self._since = count, now
        return Migration(view, self._to, now - self._since)
