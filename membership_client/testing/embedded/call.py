"""A request that has reached a broker, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_coordinator import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What handles it calls `reply` once, now or later."""

    node_id: int
    """Of the broker that was asked."""
    version: int
    request: Any
    """As kio's class of that version has it."""
    client: Client
    now: float
    reply: Callable[[Fields | None], None]
    """None: the client wants no answer."""

    def get(self, name: str, default: Any = None) -> Any:
        """A field that not all versions have."""
        return getattr(self.request, name, default)
