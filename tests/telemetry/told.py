"""A member in virtual time whose telemetry is recorded."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.sdk.trace import ReadableSpan

from membership_client.core.events import Close, Event, LeaveGroup
from membership_client.telemetry import Telemetry
from membership_client.testing.fake_coordinator import Client
from membership_client.types import MemberState
from tests.telemetry.recorder import Recorder, virtual
from tests.worker.scene import SUBSCRIBE, Scene

_CLIENT = Client(client_id="admin", host="/127.0.0.1")


class Told:
    """A scene, its telemetry, and what was recorded."""

    def __init__(self, *, callbacks_s: float = 0.0, **config: object) -> None:
        self.scene = Scene.set(callbacks_s=callbacks_s, **config)
        self.recorder = Recorder(virtual(self.scene.brokers.clock))
        self.telemetry = Telemetry(self.scene.worker.member, self.recorder.backend)
        self.scene.worker._observers.append(self.telemetry.on_step)

    def ask(self, event: Event) -> None:
        self.scene.worker.post(self.telemetry.asked(event))

    def until(self, happened: Callable[[], bool]) -> None:
        self.scene.until(happened)

    def until_state(self, state: MemberState) -> None:
        self.scene.until(lambda: self.scene.worker.member.state is state)

    def stable(self) -> Told:
        self.ask(SUBSCRIBE)
        self.until_state(MemberState.STABLE)
        return self

    def close(self) -> None:
        self.ask(Close(timeout_s=10.0))
        self.until(lambda: self.scene.worker.stopped)

    def drop(self) -> None:
        """Remove the member as an administrator would: its next heartbeat is fenced."""
        member = self.scene.worker.member
        leave = LeaveGroup(group_id="g", member_id=member.member_id, instance_id=None, reason="removed")
        self.scene.brokers.cluster.handle(member.coordinator, leave, self.scene.brokers.now, _CLIENT)

    @property
    def rebalances(self) -> list[ReadableSpan]:
        return self.recorder.spans("membership.rebalance")
