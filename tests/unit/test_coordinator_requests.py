"""Requests of others on the member's connection: each gets exactly one outcome."""

from __future__ import annotations

from dataclasses import replace

from membership_client.core.events import Answered, Failed, FailureKind, GroupLeft, LeaveGroup, Request
from membership_client.core.member import Member
from membership_client.errors import NotOwnedError
from membership_client.runtime.coordinator_requests import Errand, Errands
from tests.core.play import BROKER, OTHER_BROKER, config

REQUEST = LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="")
MEMBER = replace(Member(config=config(), member_id="me"), coordinator=BROKER)


def errand() -> Errand:
    return Errand(lambda _: REQUEST)


def test_an_answer_finds_its_errand() -> None:
    """Ids are negative, so that the member's own requests can never be mistaken for them."""
    errands, first, second = Errands(), errand(), errand()
    one, two = errands.start(first, MEMBER), errands.start(second, MEMBER)
    assert one is not None
    assert two is not None
    assert (one.to, one.request) == (BROKER, REQUEST)
    assert two.request_id < one.request_id < 0
    assert errands.finish(Answered(two.request_id, GroupLeft()))
    assert first.reply.empty()
    assert second.reply.get_nowait() == GroupLeft()


def test_the_members_own_answers_are_left_alone() -> None:
    """They go on to the state machine."""
    assert not Errands().finish(Answered(1, GroupLeft()))


def test_a_late_answer_is_swallowed() -> None:
    """Its errand has had its outcome when the connection was dropped."""
    errands, waiting = Errands(), errand()
    sent = errands.start(waiting, MEMBER)
    assert sent is not None
    errands.drop(BROKER, "dropped")
    assert errands.finish(Answered(sent.request_id, GroupLeft()))
    assert isinstance(waiting.reply.get_nowait(), Failed)
    assert waiting.reply.empty()


def test_only_what_went_to_that_broker_is_dropped() -> None:
    """The others may still be answered."""
    errands, here, there = Errands(), errand(), errand()
    errands.start(here, MEMBER)
    errands.start(there, replace(MEMBER, coordinator=OTHER_BROKER))
    errands.drop(OTHER_BROKER, "dropped")
    assert here.reply.empty()
    assert not there.reply.empty()
    errands.drop_all("closed")
    assert not here.reply.empty()


def test_without_a_coordinator_nothing_is_sent() -> None:
    """Whoever waits learns it at once and may try again."""
    waiting = errand()
    assert Errands().start(waiting, replace(MEMBER, coordinator=None)) is None
    outcome = waiting.reply.get_nowait()
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.UNREACHABLE


def test_a_refusal_on_the_membership_thread_reaches_who_asked() -> None:
    """It is an outcome like any other, and the thread goes on."""

    def refuse(_: Member) -> Request:
        raise NotOwnedError("gone")

    waiting = Errand(refuse)
    assert Errands().start(waiting, MEMBER) is None
    assert isinstance(waiting.reply.get_nowait(), NotOwnedError)
