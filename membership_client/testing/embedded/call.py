"""A request that has reached a broker, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_coordinator import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCall:
    """One request. The function that handles it calls `reply` once, now or later."""

    node_id: int
    """The number of the broker that received it."""
    version: int
    request: Any
    """The request as kio's class of that version."""
    client: Client
    now: float
    reply: Callable[[Fields | None], None]
    """Sends the answer; None if the client wants no answer."""

    def get(self, name: str, default: Any = None) -> Any:
        """The field, or the default if this version does not have it."""
        return getattr(self.request, name, default)
