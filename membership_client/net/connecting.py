"""What a connecting thread does: wait for a token, then open a connection, or renew the session of one that is open.

The first such thread imports this module, and with it Kafka's message formats, whose import takes longer than that of all
the rest of a member: a program that imports a member does not wait for it.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING

from membership_client.net.bootstrap_race import open_first
from membership_client.net.opening import await_token, open_connection, renew_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.net.connection import Connection
    from membership_client.net.transport import Attempt
    from membership_client.types import Node


_MOST_AT_ONCE = 16
"""So many threads open connections at a time.

A thousand members that start at once would otherwise be two thousand threads that compete for the interpreter's lock, for
minutes, while the heartbeats of all members wait for it too.
"""


class _Limit:
    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a forked child, which does not have the threads that hold places."""
        self.places = threading.BoundedSemaphore(_MOST_AT_ONCE)


_limit = _Limit()
os.register_at_fork(after_in_child=_limit.renew)


def places() -> threading.BoundedSemaphore:
    """To be held while opening a connection; entering waits for a free place."""
    return _limit.places


def connect(attempt: Attempt) -> Connection:
    """Open the connection, or renew the session. Blocks.

    Raises:
        OpenFailed: for every reason that lies outside this process.
    """
    await_token(attempt.nodes[0], timeout_s=attempt.token_timeout_s, security=attempt.security)
    with places():
        if attempt.held is not None:
            return renew_session(attempt.held, timeout_s=attempt.timeout_s, security=attempt.security)
        return open_first([_opener(attempt, node) for node in attempt.nodes])


def _opener(attempt: Attempt, node: Node) -> Callable[[], Connection]:
    return functools.partial(
        open_connection,
        node,
        client_id=attempt.client_id,
        timeout_s=attempt.timeout_s,
        max_frame_bytes=attempt.max_frame_bytes,
        security=attempt.security,
    )
