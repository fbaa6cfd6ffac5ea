"""The heartbeats of one run, of either protocol, each with its answer or failure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    ClassicHeartbeat,
    Failed,
    Heartbeat,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    Refused,
    Response,
    Send,
)
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SentHeartbeat:
    """A heartbeat with neither a response nor a failure timed out, or the trace ends before its answer."""

    request_id: int
    request: Heartbeat | ClassicHeartbeat
    to: Node | None
    sent: TraceEntry
    ended: TraceEntry | None = None
    response: Response | None = None
    failure: Failed | None = None

    @property
    def accepted(self) -> HeartbeatAccepted | None:
        return self.response if isinstance(self.response, HeartbeatAccepted) else None

    @property
    def is_accepted(self) -> bool:
        return isinstance(self.response, HeartbeatAccepted | HeartbeatConfirmed)

    @property
    def is_confirmed(self) -> bool:
        """Did the coordinator confirm the membership? In a classic group REBALANCE_IN_PROGRESS confirms it, too."""
        rebalances = isinstance(self.response, Refused) and self.response.code == Code.REBALANCE_IN_PROGRESS
        return self.is_accepted or rebalances

    @property
    def interval_s(self) -> float:
        """The interval in the answer; 0 without an answer."""
        return self.accepted.interval_s if self.accepted else 0.0


def heartbeats_of(steps: Iterable[TraceEntry]) -> tuple[SentHeartbeat, ...]:
    """In the order they were sent."""
    heartbeats: dict[int, SentHeartbeat] = {}
    for step in steps:
        _end(heartbeats, step)
        for send in step.effects_of(Send):
            if isinstance(send.request, Heartbeat | ClassicHeartbeat):
                heartbeats[send.request_id] = SentHeartbeat(
                    request_id=send.request_id, request=send.request, to=send.to, sent=step
                )
    return tuple(heartbeats.values())


def _end(heartbeats: dict[int, SentHeartbeat], step: TraceEntry) -> None:
    event = step.event
    if not isinstance(event, Answered | Failed):
        return
    heartbeat = heartbeats.get(event.request_id)
    # The first answer counts: a second one may come, or one after the timeout.
    if heartbeat is None or heartbeat.ended is not None:
        return
    if isinstance(event, Answered):
        heartbeats[event.request_id] = replace(heartbeat, ended=step, response=event.response)
    else:
        heartbeats[event.request_id] = replace(heartbeat, ended=step, failure=event)
