"""What other threads know of a member whose callback has returned, before the worker has taken that in."""

from __future__ import annotations

from collections import deque

from membership_client.core.events import CallbackReturned, Event, RunCallback, Unsubscribe
from membership_client.runtime.coordinator_requests import CoordinatorRequest
from membership_client.runtime.listener import Done
from membership_client.runtime.worker import Worker
from membership_client.testing.virtual import VirtualRunner
from membership_client.types import MemberState
from tests.worker.scene import SUBSCRIBE, Scene


class HeldRunner(VirtualRunner):
    """Its callbacks return when the test says so."""

    def run(self, call: RunCallback, done: Done) -> None:
        self.calls.append(call)
        self._done = done

    def return_last(self) -> None:
        self._done(CallbackReturned(self.calls[-1].call_id))


def held() -> tuple[Scene, HeldRunner]:
    scene = Scene.set()
    runner = HeldRunner(scene.brokers, 0.0)
    scene.worker.runner = runner
    scene.worker.post(SUBSCRIBE)
    scene.until(lambda: bool(runner.calls))
    return scene, runner


def test_partitions_are_known_as_owned_when_their_callback_returns() -> None:
    """An application reads them at once; it took them for another member's, and dropped their records."""
    scene, runner = held()
    assert scene.worker.known is scene.worker.member
    runner.return_last()
    assert len(scene.worker.known.owned) == 6
    assert not scene.worker.member.owned
    scene.until(lambda: scene.worker.member.state is MemberState.STABLE)
    assert scene.worker.known is scene.worker.member


def test_partitions_are_known_as_owned_until_their_revoked_callback_returns() -> None:
    """The return of an earlier callback says nothing about this one."""
    scene, runner = held()
    runner.return_last()
    scene.until(lambda: scene.worker.member.state is MemberState.STABLE)
    scene.worker.post(Unsubscribe())
    scene.until(lambda: len(runner.calls) == 2)
    assert len(scene.worker.known.owned) == 6
    runner.return_last()
    assert not scene.worker.known.owned
    assert len(scene.worker.member.owned) == 6


class WatchedInbox(deque[Event | CoordinatorRequest]):
    """Notes how many partitions are known as owned at the moment at which something is put into it."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self.known: list[int] = []

    def append(self, posted: Event | CoordinatorRequest) -> None:
        self.known.append(len(self._worker.known.owned))
        super().append(posted)


def test_partitions_are_not_known_as_owned_before_the_worker_is_told() -> None:
    """Another thread may commit as soon as they are: its commit overtook the return of the callback, and was refused."""
    scene, runner = held()
    scene.worker._inbox = inbox = WatchedInbox(scene.worker)
    runner.return_last()
    assert inbox.known == [0]
    assert len(scene.worker.known.owned) == 6
