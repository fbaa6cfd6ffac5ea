"""One request, and what both players say to it."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.core.events import Request, Response
from membership_client.testing.described import GroupDescription

Answer = Response | GroupDescription | None


@dataclass(frozen=True, slots=True)
class Exchange:
    request: Request | str
    """In words where nothing was asked, and the group itself is looked at."""
    fake: Answer
    broker: Answer

    @property
    def differs(self) -> bool:
        return self.fake != self.broker
