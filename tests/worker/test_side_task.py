"""What else the owning thread does with the member's connections: its turns, its requests, and its end."""

from __future__ import annotations

import logging

import pytest

from membership_client.core.events import Answered, Close, DescribeGroup
from membership_client.core.member import Member
from membership_client.runtime.coordinator_requests import CoordinatorRequest
from membership_client.runtime.worker import Worker
from membership_client.types import MemberState
from tests.worker.scene import Scene


class Task:
    """Notes its turns, and does in them what a test says."""

    def __init__(self, due_at: float = float("inf")) -> None:
        self.due = due_at
        self.turns: list[tuple[float, bool]] = []
        """When, and whether the worker had stopped by then."""
        self.wanted: CoordinatorRequest | None = None
        self.raises: Exception | None = None

    def due_at(self, member: Member) -> float:
        assert member.config.group_id == "g"
        return self.due

    def turn(self, worker: Worker, now: float) -> None:
        self.turns.append((now, worker.stopped))
        if self.raises is not None:
            raise self.raises
        if self.wanted is not None:
            worker.start_request(self.wanted)
            self.wanted = None


def test_it_has_a_turn_when_it_is_due() -> None:
    """Between two heartbeats, at its own time."""
    scene, task = Scene.set().stable(), Task()
    scene.worker.side_task = task
    due_at = task.due = scene.brokers.now + 1.25
    scene.until(lambda: bool(task.turns) and task.turns[-1][0] >= due_at)
    assert task.turns[-1] == (due_at, False)


def test_a_task_that_is_never_due_wakes_no_thread() -> None:
    """It has its turn when the worker has one anyway."""
    scene, alone = Scene.set().stable(), Scene.set().stable()
    scene.worker.side_task = task = Task()
    scene.pass_time(60.0)
    alone.pass_time(60.0)
    assert [at for at, _ in scene.heartbeats()] == [at for at, _ in alone.heartbeats()]
    turns = len(task.turns)
    scene.worker.run_once()
    assert len(task.turns) == turns + 1


def test_a_task_that_was_due_before_is_late_by_nothing() -> None:
    """No waiting time is negative, and no turn is skipped."""
    scene, task = Scene.set().stable(), Task(due_at=float("-inf"))
    scene.worker.side_task = task
    now = scene.brokers.now
    scene.worker.run_once()
    assert task.turns == [(now, False)]


def test_its_request_leaves_in_its_turn() -> None:
    """To the coordinator; the answer is in its queue."""
    scene, task = Scene.set().stable(), Task(due_at=0.0)
    wanted = task.wanted = CoordinatorRequest(lambda member: DescribeGroup(group_id=member.config.group_id))
    scene.worker.side_task = task
    scene.worker.run_once()
    task.due = float("inf")
    at, send = scene.brokers.sent[-1]
    assert (at, send.to, send.request) == (
        task.turns[0][0],
        scene.worker.member.coordinator,
        DescribeGroup(group_id="g"),
    )
    scene.until(lambda: not wanted.reply.empty())
    assert not isinstance(wanted.reply.get(), Answered)


def test_it_has_a_last_turn_when_the_worker_has_stopped() -> None:
    """Its connections are still open then."""
    scene, task = Scene.set().stable(), Task()
    scene.worker.side_task = task
    scene.worker.post(Close(timeout_s=10.0))
    scene.until(lambda: scene.worker.stopped)
    assert [stopped for _, stopped in task.turns].count(True) == 1
    assert task.turns[-1][1]
    assert not scene.brokers.closed


def test_one_that_raises_is_dropped_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The log names it."""
    scene, task = Scene.set().stable(), Task()
    scene.worker.side_task = task
    task.raises = ValueError("a bug")
    with caplog.at_level(logging.ERROR, "membership_client"):
        scene.pass_time(60.0)
    assert len(task.turns) == 1
    assert scene.worker.side_task is None
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is task.raises
    assert "Task object" in record.getMessage()
    assert scene.worker.member.state is MemberState.STABLE
