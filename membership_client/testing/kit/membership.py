"""A member in virtual time: the core, and a simulated network to the fake coordinator."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from membership_client.config import MemberConfig
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackReturned,
    ClassicHeartbeat,
    Effect,
    Event,
    Failed,
    FailureKind,
    Heartbeat,
    JoinGroup,
    Polled,
    Refused,
    Response,
    RunCallback,
    Send,
    Stop,
    SyncGroup,
    TellLost,
    Tick,
)
from membership_client.core.machine import deadline, step
from membership_client.core.member import Member
from membership_client.runtime.topic_names import NamedPartitions
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import Client
from membership_client.testing.kit.scheduler import Scheduler
from membership_client.types import MemberState, TopicPartition

LATENCY_S = 0.01
"""The time of a message from a member to a broker, or back."""
HEARTBEAT_INTERVAL_S = 2.0
SESSION_TIMEOUT_S = 6.0


class VirtualMembership:
    """Does the work of a membership thread with events of the scheduler.

    `pending` is the callback that waits to be run. The caller that runs it calls `returned` afterwards.
    """

    def __init__(self, scheduler: Scheduler, cluster: FakeCluster, config: MemberConfig, member_id: str) -> None:
        self.member = Member(config=config, member_id=member_id)
        self.pending: RunCallback | None = None
        self.on_lost: Callable[[], None] = lambda: None
        """Called if partitions of the running callback are lost."""
        self.alive = True
        self.answers_to_lose = 0
        self.stalled_until = float("-inf")
        self._scheduler = scheduler
        self._cluster = cluster
        self._wakes_at: float | None = None
        self._polled_at: float | None = None
        self._owned = NamedPartitions()
        self._fence: str | None = None
        """The member id under which the coordinator removed it, until the member learns of it."""

    # --- the application's side --------------------------------------------------------------------------------------

    def owned(self) -> Collection[TopicPartition]:
        self._owned = self._owned.changed_to(self.member.owned, self.member.names)
        return self._owned.named

    def polled(self) -> None:
        self._polled_at = self._scheduler.now
        if self.member.state is MemberState.STALE:
            self.receive(Tick())

    def returned(self, call: RunCallback, error: str | None) -> None:
        self.receive(CallbackReturned(call.call_id, error))

    @property
    def known_as(self) -> str:
        return self.member.known_as

    def is_stable(self) -> bool:
        return self.member.state is MemberState.STABLE

    # --- faults ------------------------------------------------------------------------------------------------------

    def kill(self) -> None:
        self.alive = False

    def fence(self) -> None:
        """Answer the next heartbeat with FENCED_MEMBER_EPOCH, in a classic group with ILLEGAL_GENERATION."""
        self._fence = self.known_as

    def take_lost_answer(self) -> bool:
        """Whether the answer that comes now is lost. Counts it."""
        is_lost = self.answers_to_lose > 0
        self.answers_to_lose -= is_lost
        return is_lost

    def stall(self, until: float) -> None:
        self.stalled_until = max(self.stalled_until, until)

    # --- its thread --------------------------------------------------------------------------------------------------

    def receive(self, event: Event) -> None:
        if self._scheduler.now < self.stalled_until:
            self._scheduler.at(self.stalled_until, partial(self.receive, event))
            return
        if self._polled_at is not None:
            polled, self._polled_at = Polled(self._polled_at), None
            self._take(polled)
        self._take(event)
        self._arm()

    def _take(self, event: Event) -> None:
        if not self.alive:
            return
        self.member, effects = step(self.member, event, self._scheduler.now)
        for effect in effects:
            self._perform(effect)

    def _arm(self) -> None:
        at = deadline(self.member) if self.alive else None
        if at is not None and at != self._wakes_at:
            self._scheduler.at(at, partial(self._wake, at))
        self._wakes_at = at

    def _wake(self, at: float) -> None:
        if self._wakes_at == at and self.alive:
            self._wakes_at = None
            self.receive(Tick())

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._scheduler.at(self._scheduler.now + LATENCY_S, partial(self._handle, effect))
        elif isinstance(effect, RunCallback):
            self.pending = effect
        elif isinstance(effect, TellLost):
            self.on_lost()
        elif isinstance(effect, Stop):
            self.alive = False

    # --- the network -------------------------------------------------------------------------------------------------

    def _handle(self, send: Send) -> None:
        if self._fence is not None and isinstance(send.request, Heartbeat):
            self._fence = None
            self._answer(send, Refused(Code.FENCED_MEMBER_EPOCH))
            return
        if isinstance(send.request, ClassicHeartbeat) and send.request.member_id == self._fence:
            self._fence = None
            self._answer(send, Refused(Code.ILLEGAL_GENERATION))
            return
        client = Client(client_id=self.member.member_id, host="/127.0.0.1")
        self._cluster.ask(send.to, send.request, self._scheduler.now, client, partial(self._answer, send))
        timer_at = self._cluster.groups.next_timer()
        if timer_at < float("inf"):
            self._scheduler.at(timer_at, lambda: None)

    def _answer(self, send: Send, response: Response) -> None:
        outcome: Answered | Failed = Answered(send.request_id, response)
        if self.take_lost_answer():
            if not isinstance(send.request, JoinGroup | SyncGroup):
                return
            # The timeout of these requests is minutes, so the member learns of the loss when the connection ends.
            outcome = Failed(send.request_id, FailureKind.DISCONNECTED, "the answer was lost")
        self._scheduler.at(self._scheduler.now + LATENCY_S, partial(self.receive, outcome))
