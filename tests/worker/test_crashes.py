"""The end of a worker by a bug: a thread that reads the member's state, or waits for it, must learn of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from membership_client.core.events import Answered, CallbackKind, DescribeGroup, Failed
from membership_client.errors import MemberClosedError, ProblemKind
from membership_client.runtime.coordinator_requests import CoordinatorRequest
from membership_client.types import MemberState
from tests.worker.scene import SUBSCRIBE, Scene


def broken(_timeout_s: float | None) -> Sequence[Answered | Failed]:
    raise ZeroDivisionError("a bug")


def test_a_member_whose_thread_ends_by_a_bug_owns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is FATAL, its partitions are lost, nothing is left open, and no thread waits for it."""
    scene = Scene.set().stable()
    lost = scene.worker.member.owned.named(scene.worker.member.names)
    asked = CoordinatorRequest(lambda _: DescribeGroup(group_id="g"))
    monkeypatch.setattr(scene.brokers, "wait", broken)
    scene.worker.run_request(asked)
    with pytest.raises(ZeroDivisionError):
        scene.worker.run()
    assert scene.worker.member.state is MemberState.FATAL
    assert not scene.worker.member.owned
    assert scene.worker.member.problem is not None
    assert scene.worker.member.problem.kind is ProblemKind.CRASHED
    assert "ZeroDivisionError('a bug')" in scene.worker.member.problem.detail
    assert [call.kind for call in scene.runner.calls] == [CallbackKind.ASSIGNED, CallbackKind.LOST]
    assert set(scene.runner.calls[-1].partitions) == set(lost)
    assert (scene.worker.stopped, scene.brokers.closed, scene.runner.stopped) == (True, True, True)
    assert isinstance(asked.reply.get_nowait(), MemberClosedError)


def test_a_running_callback_is_told_that_its_partitions_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assigned callback may load state for minutes; all of it is for nothing by now."""
    scene = Scene.set(callbacks_s=60.0)
    scene.worker.post(SUBSCRIBE)
    scene.until(lambda: bool(scene.runner.calls))
    monkeypatch.setattr(scene.brokers, "wait", broken)
    with pytest.raises(ZeroDivisionError):
        scene.worker.run()
    assert scene.runner.lost == [scene.runner.calls[0].call_id]
