"""What a connecting thread does: wait for a token, then open a connection, or renew the session of one that is open.

The first such thread loads this module, and with it Kafka's message formats, which take longer to load than all the rest
of a member; so a program that imports a member does not wait for that.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from membership_client.net import connect_limit
from membership_client.net.bootstrap_race import open_first
from membership_client.net.opening import await_token, open_connection, renew_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.net.attempt import Attempt
    from membership_client.net.connection import Connection
    from membership_client.types import Node


def connect(attempt: Attempt) -> Connection:
    """Blocks.

    Raises:
        OpenFailed: for every reason that lies outside this process.
    """
    await_token(attempt.nodes[0], timeout_s=attempt.token_timeout_s, security=attempt.security)
    with connect_limit.one_of_few():
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
