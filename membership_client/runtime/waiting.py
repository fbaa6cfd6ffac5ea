"""Threads that wait for a state of a member, or for another condition of its snapshot."""

from __future__ import annotations

from collections.abc import Callable

from membership_client.arguments import shown
from membership_client.errors import ConfigError
from membership_client.types import MemberState, Snapshot

Condition = MemberState | Callable[[Snapshot], bool]
"""What `wait_until` waits for."""

Tell = Callable[[Snapshot | Exception], None]
"""Called with the outcome of a wait: on any thread, maybe more than once."""


class Waiter:
    """One wait for one condition."""

    def __init__(self, condition: Condition, tell: Tell) -> None:
        self.wanted = _function_of(condition)
        self.tell = tell

    def offer(self, snapshot: Snapshot) -> None:
        """Check a new snapshot, on the membership thread. What the condition raises goes to the thread that waits."""
        try:
            if snapshot.state is MemberState.FATAL or self.wanted(snapshot):
                self.tell(snapshot)
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it
            self.tell(error)


def _function_of(condition: Condition) -> Callable[[Snapshot], bool]:
    if isinstance(condition, MemberState):
        return lambda snapshot: snapshot.state is condition
    if not callable(condition):
        raise ConfigError(f"wait_until() takes a MemberState or a function of the snapshot, not {shown(condition)}.")
    return condition


def not_met(condition: Condition) -> str:
    """What did not happen in time: a clause for an error text."""
    if isinstance(condition, MemberState):
        return f"The member was not {condition.name}"
    return "The condition was not true"
