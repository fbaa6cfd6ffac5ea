"""What of a trace waits to be written, as counts: bounded, and what did not fit is counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Backlog:
    """`admit` and `dropped` belong to the thread that records, `written` to the one that writes; neither waits."""

    limit: int
    dropped: int = 0
    """Since the last entry that was admitted: they are missing before the next one."""
    _admitted: int = 0
    _written: int = 0

    @property
    def waiting(self) -> int:
        return self._admitted - self._written

    def admit(self) -> bool:
        """Is there room for one entry more? If not, it counts as dropped."""
        if self.waiting >= self.limit:
            self.dropped += 1
            return False
        self._admitted += 1
        return True

    def take_dropped(self) -> int:
        """How many entries are missing before the one that was just admitted; told once."""
        dropped, self.dropped = self.dropped, 0
        return dropped

    def wrote(self) -> None:
        self._written += 1
