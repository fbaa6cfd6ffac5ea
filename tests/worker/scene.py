"""A worker without a thread, its brokers under a virtual clock, and all of its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from membership_client.config import MemberConfig
from membership_client.core.events import Heartbeat, Subscribe, Tick
from membership_client.core.machine import Step
from membership_client.runtime.worker import Worker
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.testing.virtual import VirtualBrokers, VirtualRunner
from membership_client.types import MemberState

S = MemberState
SETTINGS = CoordinatorSettings(assignment_interval_s=0.0)
SUBSCRIBE = Subscribe(frozenset({"orders"}))


@dataclass
class Scene:
    """A worker, its brokers, and all of its steps."""

    brokers: VirtualBrokers
    worker: Worker
    runner: VirtualRunner
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def set(cls, *, callbacks_s: float = 0.0, **config: object) -> Scene:
        brokers = VirtualBrokers(FakeCluster({"orders": 6}, SETTINGS))
        settings = MemberConfig.from_dict({"bootstrap.servers": "b1:9092", "group.id": "g", **config})
        steps: list[Step] = []
        worker = brokers.worker(settings, observers=[steps.append], callbacks_s=callbacks_s)
        assert isinstance(worker.runner, VirtualRunner)
        return cls(brokers, worker, worker.runner, steps)

    def stable(self) -> Scene:
        self.worker.post(SUBSCRIBE)
        return self.until(lambda: self.worker.member.state is S.STABLE)

    def until(self, happened: Callable[[], bool], most: int = 1000) -> Scene:
        for _ in range(most):
            if happened():
                return self
            self.worker.run_once()
        pytest.fail(f"not within {most} rounds: {self.worker.member.state}")

    def pass_time(self, seconds: float) -> Scene:
        """Let the worker run for `seconds` of virtual time."""
        end, passed = self.brokers.now + seconds, list[bool]()
        self.brokers.at(end, lambda: self._pass(passed))
        return self.until(lambda: bool(passed))

    def _pass(self, passed: list[bool]) -> None:
        passed.append(True)
        self.worker.post(Tick())

    def heartbeats(self) -> list[tuple[float, Heartbeat]]:
        return [(at, send.request) for at, send in self.brokers.sent if isinstance(send.request, Heartbeat)]
