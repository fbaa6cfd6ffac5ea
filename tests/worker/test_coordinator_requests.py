"""Requests of others that the worker carries: answered, dropped with their connection, or refused at the end."""

from __future__ import annotations

from membership_client.core.events import (
    Close,
    DescribeGroup,
    Failed,
    FailureKind,
    GroupDescribed,
    Heartbeat,
    LeaveGroup,
)
from membership_client.errors import MemberClosedError
from membership_client.runtime.coordinator_requests import CoordinatorRequest
from tests.worker.scene import Scene


def new_request() -> CoordinatorRequest:
    return CoordinatorRequest(lambda member: DescribeGroup(group_id=member.config.group_id))


def test_a_request_is_carried_to_the_coordinator_and_its_answer_brought_back() -> None:
    """The member itself takes no notice of it."""
    scene, asked = Scene.set().stable(), new_request()
    shown = len(scene.steps)
    scene.worker.run_request(asked)
    scene.until(lambda: not asked.reply.empty())
    answer = asked.reply.get_nowait()
    assert isinstance(answer, GroupDescribed)
    assert [member.member_id for member in answer.members] == [scene.worker.member.known_as]
    assert scene.brokers.sent[-1][1].to == scene.worker.member.coordinator
    assert len(scene.steps) == shown


def test_a_request_wakes_a_thread_that_waits() -> None:
    """It is sent at once, and does not wait for the next heartbeat."""
    scene = Scene.set().stable()
    asked_at = scene.brokers.now + 1.0
    scene.brokers.at(asked_at, lambda: scene.worker.run_request(new_request()))
    scene.until(lambda: isinstance(scene.brokers.sent[-1][1].request, DescribeGroup))
    assert scene.brokers.sent[-1][0] == asked_at


def test_a_request_without_a_coordinator_ends_at_once() -> None:
    """Nothing is sent for it."""
    scene, asked = Scene.set(), new_request()
    scene.worker.run_request(asked)
    scene.worker.run_once()
    outcome = asked.reply.get_nowait()
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.UNREACHABLE
    assert not scene.brokers.sent


def test_a_request_ends_with_the_connection_it_went_over() -> None:
    """The coordinator fell silent, and its connection was dropped: nothing on it will be answered."""
    scene, asked = Scene.set(request_timeout_ms=3_000).stable(), new_request()
    scene.brokers.silent = {DescribeGroup, Heartbeat}
    scene.worker.run_request(asked)
    scene.until(lambda: bool(scene.brokers.dropped))
    outcome = asked.reply.get_nowait()
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.DISCONNECTED


def test_no_request_waits_for_a_thread_that_has_ended() -> None:
    """One is under way, and one comes after the end: each has an outcome."""
    scene = Scene.set().stable()
    under_way, late = new_request(), new_request()
    scene.brokers.silent = {DescribeGroup, LeaveGroup}
    scene.worker.run_request(under_way)
    scene.worker.post(Close(timeout_s=1.0))
    scene.worker.run()
    scene.worker.run_request(late)
    dropped = under_way.reply.get_nowait()
    assert isinstance(dropped, Failed)
    assert dropped.kind is FailureKind.DISCONNECTED
    refused = late.reply.get_nowait()
    assert isinstance(refused, MemberClosedError)
    assert refused.member_id == scene.worker.member.identity.member_id
