"""Holds a slot's records back unless the coordinator confirmed the member a moment ago.

`Consumer` checks this only after a pause. That is not enough where an attempt that is cut off can be taken over at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from membership_client import MemberState, Snapshot

_LATE_S = 1.0
"""How much later than its interval a heartbeat's answer may come before we doubt that we are still a member."""

_LOOK_S = 0.02


def wait_until_confirmed(look: Callable[[], Snapshot], give_up: Callable[[], bool]) -> None:
    """Returns at once in a healthy member, and raises the error of one that has ended.

    A process that was stopped and goes on finds its last confirmation old, and must hear from the coordinator before it
    hands out what it fetched before it was stopped. However long that takes: what was fetched cannot be put back.
    """
    while not is_confirmed(look()) and not give_up():
        time.sleep(_LOOK_S)


def is_confirmed(now: Snapshot) -> bool:
    """Whether the coordinator spoke to us within the heartbeat interval. Raises the error of a member that has ended."""
    if now.state is MemberState.FATAL and now.error is not None:
        raise now.error
    if now.heartbeat_age_s is None or now.heartbeat_interval_s is None:
        return False
    return now.heartbeat_age_s <= now.heartbeat_interval_s + _LATE_S
