"""An attempt to open a connection, or to renew its session, as a value: what a connecting thread is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from membership_client.values import dataclass

if TYPE_CHECKING:
    from membership_client.net.connection import Connection
    from membership_client.security import Security
    from membership_client.types import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    nodes: tuple[Node, ...]
    """Any of them will do; they are tried in this order."""
    client_id: str
    timeout_s: float
    token_timeout_s: float
    """How long a token may take before it is told that there is none."""
    max_frame_bytes: int
    security: Security
    held: Connection | None = None
    """The connection whose session is renewed; None to open one."""
