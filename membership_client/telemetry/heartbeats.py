"""How long a heartbeat's answer took, and what was wrong with it."""

from __future__ import annotations

from typing import NamedTuple

from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import (
    Answered,
    ClassicHeartbeat,
    Disconnect,
    Failed,
    FailureKind,
    Heartbeat,
    Refused,
)
from membership_client.core.machine import Step
from membership_client.core.member import InFlight


class HeartbeatOutcome(NamedTuple):
    took_s: float
    error: str | None
    """An error code's name, or why there was no answer."""


def heartbeat_outcome(step: Step) -> HeartbeatOutcome | None:
    """The heartbeat that this step ended, if it did."""
    return _ended(step, step.before.dialogue, step.after.dialogue) or _ended(step, step.before.pulse, step.after.pulse)


def _ended(step: Step, flight: InFlight | None, following: InFlight | None) -> HeartbeatOutcome | None:
    if flight is None or flight is following or not isinstance(flight.request, Heartbeat | ClassicHeartbeat):
        return None
    event = step.event
    if isinstance(event, Answered | Failed) and event.request_id == flight.request_id:
        return HeartbeatOutcome(step.at - flight.sent_at, _error(event))
    return _timed_out(step, flight)


def _error(event: Answered | Failed) -> str | None:
    if isinstance(event, Failed):
        return event.kind.name.lower()
    # That the group rebalances is the classic protocol's way to say so, and no error.
    code = event.response.code if isinstance(event.response, Refused) else Code.REBALANCE_IN_PROGRESS
    return None if code == Code.REBALANCE_IN_PROGRESS else code_name(code)


def _timed_out(step: Step, flight: InFlight) -> HeartbeatOutcome | None:
    """What else ends a heartbeat is the member's own change of mind."""
    dropped = any(isinstance(effect, Disconnect) and effect.to == flight.to for effect in step.effects)
    return HeartbeatOutcome(step.at - flight.sent_at, FailureKind.TIMED_OUT.name.lower()) if dropped else None
