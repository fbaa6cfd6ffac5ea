"""Requests of others on the member's connection: each gets exactly one outcome."""

from __future__ import annotations

from dataclasses import replace

from membership_client.core.events import Answered, Failed, FailureKind, GroupLeft, LeaveGroup, Request
from membership_client.core.member import Member
from membership_client.errors import NotOwnedError
from membership_client.runtime.coordinator_requests import CoordinatorRequest, CoordinatorRequests
from tests.core.play import BROKER, OTHER_BROKER, config

REQUEST = LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="")
MEMBER = replace(Member(config=config(), member_id="me"), coordinator=BROKER)


def new_request() -> CoordinatorRequest:
    return CoordinatorRequest(lambda _: REQUEST)


def test_an_answer_finds_its_request() -> None:
    """Ids are negative, so that the member's own requests can never be mistaken for them."""
    requests, first, second = CoordinatorRequests(), new_request(), new_request()
    one, two = requests.start(first, MEMBER), requests.start(second, MEMBER)
    assert one is not None
    assert two is not None
    assert (one.to, one.request) == (BROKER, REQUEST)
    assert two.request_id < one.request_id < 0
    assert requests.finish(Answered(two.request_id, GroupLeft()))
    assert first.reply.empty()
    assert second.reply.get_nowait() == GroupLeft()


def test_the_members_own_answers_are_left_alone() -> None:
    """They go on to the state machine."""
    assert not CoordinatorRequests().finish(Answered(1, GroupLeft()))


def test_a_late_answer_is_swallowed() -> None:
    """Its request has had its outcome when the connection was dropped."""
    requests, waiting = CoordinatorRequests(), new_request()
    sent = requests.start(waiting, MEMBER)
    assert sent is not None
    requests.drop(BROKER, "dropped")
    assert requests.finish(Answered(sent.request_id, GroupLeft()))
    assert isinstance(waiting.reply.get_nowait(), Failed)
    assert waiting.reply.empty()


def test_only_what_went_to_that_broker_is_dropped() -> None:
    """The others may still be answered."""
    requests, here, there = CoordinatorRequests(), new_request(), new_request()
    requests.start(here, MEMBER)
    requests.start(there, replace(MEMBER, coordinator=OTHER_BROKER))
    requests.drop(OTHER_BROKER, "dropped")
    assert here.reply.empty()
    assert not there.reply.empty()
    requests.drop_all("closed")
    assert not here.reply.empty()


def test_without_a_coordinator_nothing_is_sent() -> None:
    """The waiting thread learns it at once and may try again."""
    waiting = new_request()
    assert CoordinatorRequests().start(waiting, replace(MEMBER, coordinator=None)) is None
    outcome = waiting.reply.get_nowait()
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.UNREACHABLE


def test_a_refusal_on_the_membership_thread_reaches_the_caller() -> None:
    """It is an outcome like any other, and the thread goes on."""

    def refuse(_: Member) -> Request:
        raise NotOwnedError("gone")

    waiting = CoordinatorRequest(refuse)
    assert CoordinatorRequests().start(waiting, MEMBER) is None
    assert isinstance(waiting.reply.get_nowait(), NotOwnedError)
