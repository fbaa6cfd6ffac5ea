"""A transport with a virtual clock, for a worker without a thread. Time passes only while the worker waits.

    brokers = VirtualBrokers(FakeCluster({"orders": 6}))
    worker = brokers.worker(MemberConfig(bootstrap_servers="b1:9092", group_id="g"))
    worker.post(Subscribe(frozenset({"orders"})))
    while worker.member.state is not MemberState.STABLE:
        worker.run_once()

A test of minutes takes milliseconds, and a worker that waits in vain fails at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from membership_client.config import MemberConfig
from membership_client.core.events import (
    Answered,
    CallbackKind,
    CallbackReturned,
    Failed,
    FailureKind,
    Request,
    Response,
    RunCallback,
    Send,
)
from membership_client.core.member import Member
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import Done
from membership_client.runtime.worker import Observer, Worker
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import Client
from membership_client.types import Node


class DeadlockError(AssertionError):
    """A worker waits without a deadline, and no planned event can wake it."""


class VirtualBrokers:
    """A `worker.Transport` over a fake cluster. Time passes only in `wait`."""

    def __init__(self, cluster: FakeCluster, *, latency_s: float = 0.01) -> None:
        self.cluster = cluster
        self.now = 0.0
        self.sent: list[tuple[float, Send]] = []
        self.dropped: list[Node | None] = []
        self.silent: set[type[Request]] = set()
        """Kinds of requests that are never answered."""
        self.throttle_s = 0.0
        self.closed = False
        self._latency_s = latency_s
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._queued = 0
        self._ready: list[Answered | Failed] = []
        self._woken = False

    def worker(
        self,
        config: MemberConfig,
        *,
        member_id: str = "a1",
        observers: Sequence[Observer] = (),
        callbacks_s: float = 0.0,
    ) -> Worker:
        """A worker with this clock, whose callbacks take `callbacks_s`."""
        worker = Worker(Member(config=config, member_id=member_id), self, observers=observers, clock=self.clock)
        worker.runner = VirtualRunner(self, callbacks_s)
        return worker

    def clock(self) -> float:
        return self.now

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Call the function at that time, if a worker waits until then."""
        self._queued += 1
        heapq.heappush(self._queue, (max(time, self.now), self._queued, action))

    # --- worker.Transport --------------------------------------------------------------------------------------------

    def send(self, send: Send) -> None:
        self.sent.append((self.now, send))
        if type(send.request) in self.cluster.lacks:
            failed = Failed(send.request_id, FailureKind.UNSUPPORTED, f"{send.to} is too old for it")
            self.at(self.now + self._latency_s, lambda: self._ready.append(failed))
        elif type(send.request) not in self.silent:
            dropped = len(self.dropped)
            self.at(self.now + self._latency_s, lambda: self._handle(send, dropped))

    def _handle(self, send: Send, dropped: int) -> None:
        client = Client(client_id="virtual", host="/127.0.0.1")
        self.cluster.ask(send.to, send.request, self.now, client, lambda answer: self._answer(send, answer, dropped))

    def _answer(self, send: Send, answer: Response, dropped: int) -> None:
        answered = Answered(send.request_id, answer, self.throttle_s)
        self.at(self.now + self._latency_s, lambda: self._deliver(send, answered, dropped))

    def _deliver(self, send: Send, answered: Answered, dropped: int) -> None:
        if send.to not in self.dropped[dropped:]:
            self._ready.append(answered)

    def disconnect(self, to: Node | None) -> None:
        self.dropped.append(to)

    def wait(self, timeout_s: float | None) -> Sequence[Answered | Failed]:
        ends_at = None if timeout_s is None else self.now + timeout_s
        while not self._ready and not self._woken:
            if not self._queue and ends_at is None:
                raise DeadlockError("nothing is under way, and there is no deadline")
            if ends_at is not None and (not self._queue or self._queue[0][0] > ends_at):
                self.now = ends_at
                break
            self._next()
        self._woken = False
        ready, self._ready = self._ready, []
        return ready

    def _next(self) -> None:
        self.now, _, action = heapq.heappop(self._queue)
        self.cluster.advance(self.now)
        action()

    def wakeup(self) -> None:
        self._woken = True

    def close(self) -> None:
        self.closed = True

    def abandon(self) -> None:
        self.closed = True


class VirtualRunner:
    """A `listener.CallbackRunner` with the same clock. A callback only lets time pass."""

    runs_on_closing_thread = False

    def __init__(self, brokers: VirtualBrokers, takes_s: float) -> None:
        self.calls: list[RunCallback] = []
        self.lost: list[int] = []
        self.takes_s: dict[CallbackKind, float] = dict.fromkeys(CallbackKind, takes_s)
        self.raises: dict[CallbackKind, str] = {}
        self.stopped = False
        self._brokers = brokers

    def run(self, call: RunCallback, done: Done) -> None:
        self.calls.append(call)
        returned = CallbackReturned(call.call_id, self.raises.get(call.kind))
        self._brokers.at(self._brokers.now + self.takes_s[call.kind], lambda: done(returned))

    def tell_lost(self, call_id: int) -> None:
        self.lost.append(call_id)

    def is_current_thread(self) -> bool:
        return False

    def thread(self) -> int | None:
        return None

    def warn(self, warning: BudgetWarning) -> None: ...

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None:
        ended(timeout_s)

    def stop(self) -> None:
        self.stopped = True
