"""Subscribed topics that do not exist: found, told with the nearest name, and over when they exist."""

from __future__ import annotations

from typing import Any

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    DescribeTopics,
    FailureKind,
    FindCoordinator,
    Heartbeat,
    Refused,
    Subscribe,
    TopicsDescribed,
    Unsubscribe,
)
from membership_client.core.topic_check import FIRST_LOOK_S, NEXT_LOOK_S, nearest_to
from membership_client.core.view import health_of, snapshot_of
from membership_client.errors import UnknownTopicError
from membership_client.subscriptions import TopicLayout
from membership_client.types import MemberState
from tests.core.classic_play import ClassicPlay
from tests.core.play import INTERVAL_S, Play, accepted, orders

UNKNOWN = TopicsDescribed({}, unknown=frozenset({"orders"}))


def kip_848() -> Play:
    """In the group, with nothing, and subscribed to orders."""
    return Play.new().stable()


def classic() -> Play:
    return ClassicPlay.new().stable()


def checks(play: Play) -> list[DescribeTopics]:
    return [send.request for send in play.sends() if isinstance(send.request, DescribeTopics)]


def there_are(*topics: str) -> TopicsDescribed:
    return TopicsDescribed({topic: TopicLayout(1) for topic in topics})


def found_missing(play: Play, *existing: str) -> Play:
    play.advance(FIRST_LOOK_S)
    play.answer_check(UNKNOWN)
    play.answer_check(there_are(*existing))
    return play


both = pytest.mark.parametrize("begin", [kip_848, classic])


@both
def test_a_check_that_sends_the_member_back_to_the_bootstrap_servers(begin: Any) -> None:
    """KIP-1102: the coordinator is looked for again, through bootstrap servers, and partitions are kept meanwhile."""
    play = begin()
    play.advance(FIRST_LOOK_S)
    before = play.member
    play.answer_check(Refused(Code.REBOOTSTRAP_REQUIRED))
    assert play.member.coordinator is None
    assert play.open(FindCoordinator).to is None
    assert (play.member.state, play.member.owned) == (before.state, before.owned)


@both
def test_a_topic_that_does_not_exist_is_told_with_the_nearest_name(begin: Any) -> None:
    """The bug: ready, no error, and nothing to read for ever, without a word."""
    play = found_missing(begin(), "order", "bills")
    assert [request.topics for request in checks(play)] == [frozenset({"orders"}), None]
    snapshot = snapshot_of(play.member, play.now)
    assert snapshot.missing_topics == {"orders"}
    assert isinstance(snapshot.error, UnknownTopicError)
    assert "Topic orders does not exist" in str(snapshot.error)
    assert "DESCRIBE on it is not granted. The nearest existing topic is order." in str(snapshot.error)
    health = health_of(play.member, play.now)
    assert health.ready
    assert "Topic orders does not exist" in health.why


@both
def test_it_is_over_when_the_topic_exists(begin: Any) -> None:
    """It is looked for again and again, and nothing is left of the warning."""
    play = found_missing(begin(), "order")
    play.effects.clear()
    play.advance(NEXT_LOOK_S)
    play.answer_check(there_are("orders"))
    assert len(checks(play)) == 1
    assert (snapshot_of(play.member, play.now).error, play.member.topic_check.missing) == (None, {})


def test_partitions_of_the_topic_end_it_too() -> None:
    """A member that is given partitions of a topic need not ask whether it exists."""
    play = found_missing(kip_848())
    play.told(orders(0), epoch=3).let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    assert play.member.topic_check.topics == frozenset()
    assert snapshot_of(play.member, play.now).missing_topics == frozenset()


def test_a_member_that_has_something_of_every_topic_asks_nothing() -> None:
    """A thousand members that are well cost the brokers no request."""
    play = Play.new().stable(0)
    for _ in range(100):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
    assert checks(play) == []


def test_a_standby_asks_once_per_metadata_age() -> None:
    """Its topics exist, others have their partitions, and a topic may be deleted later."""
    play = Play.new(metadata_max_age_ms=60_000).stable()
    for _ in range(26):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
        play.answer_check(there_are("orders"))
    assert len(checks(play)) == 3
    assert play.member.topic_check.missing == {}


def test_a_pattern_may_match_nothing() -> None:
    """Topics that match may come later: that is what patterns are for."""
    play = Play.new()
    play.do(Subscribe(regex="o.*"))
    play.find_coordinator()
    play.answer(Heartbeat, accepted(2))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    play.advance(INTERVAL_S)
    assert checks(play) == []


def test_a_topic_that_is_named_beside_a_pattern_must_exist() -> None:
    """The bug: it is a part of the pattern, and a pattern may match nothing."""
    play = Play.new()
    play.do(Subscribe(regex="orders|o.*", named=frozenset({"orders"})))
    play.find_coordinator()
    play.answer(Heartbeat, accepted(2))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    found_missing(play)
    assert play.member.topic_check.missing == {"orders": None}
    assert snapshot_of(play.member, play.now).missing_topics == {"orders"}


def test_denied_topics_are_not_said_to_be_missing() -> None:
    """The broker told that it may not show them, and that is told already."""
    play = kip_848()
    play.advance(FIRST_LOOK_S)
    play.answer_check(TopicsDescribed({}, denied=frozenset({"orders"})))
    assert play.member.topic_check.missing == {}


def test_without_an_answer_about_names_it_is_told_all_the_same() -> None:
    """The list of all topics is long, and may not come."""
    play = kip_848()
    play.advance(FIRST_LOOK_S)
    play.answer_check(UNKNOWN)
    play.fail(DescribeTopics, FailureKind.DISCONNECTED)
    assert play.member.topic_check.missing == {"orders": None}


def test_another_subscription_forgets_the_old_names() -> None:
    """What is not subscribed to any more is not missing; what is new is looked up."""
    play = found_missing(kip_848())
    play.do(Subscribe(frozenset({"bills"})))
    play.advance(INTERVAL_S)
    assert play.member.topic_check.missing == {}
    assert play.open(DescribeTopics).request == DescribeTopics(topics=frozenset({"bills"}))
    play.do(Unsubscribe())
    assert play.member.topic_check.topics == frozenset()


def test_a_fence_repeats_nothing() -> None:
    """The member joins again with the same subscription: the topic is still known to be missing."""
    play = found_missing(kip_848())
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(Code.FENCED_MEMBER_EPOCH))
    play.let_callbacks_return()
    assert play.member.topic_check.missing == {"orders": None}
    play.answer(Heartbeat, accepted(3))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    play.advance(FIRST_LOOK_S)
    play.answer_check(UNKNOWN)
    assert play.member.topic_check.missing == {"orders": None}
    assert [request.topics for request in checks(play)].count(None) == 1


@pytest.mark.parametrize(
    ("topic", "nearest"),
    [("ordrs", "orders"), ("Orders", "orders"), ("orders.v2", "orders.v1"), ("zebra", None)],
)
def test_the_nearest_name(topic: str, nearest: str | None) -> None:
    """A letter left out, another case, another version; and none where nothing is like it."""
    assert nearest_to(topic, frozenset({"orders", "orders.v1", "bills"})) == nearest


def test_among_very_many_names_none_is_looked_for() -> None:
    """The membership thread has heartbeats to send."""
    assert nearest_to("topic-5x", frozenset(f"topic-{number}" for number in range(20_000))) is None


def test_requests_are_few_while_a_topic_is_missing() -> None:
    """One small question every five seconds, and the list of all topics once."""
    play = found_missing(kip_848(), "order")
    for _ in range(12):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
        play.answer_check(UNKNOWN)
    asked = checks(play)
    assert len(asked) <= 14
    assert [request.topics for request in asked].count(None) == 1


def test_a_pattern_instead_of_names_ends_it_at_once() -> None:
    """Also during a rebalance: no name is subscribed any more that could be missing."""
    play = found_missing(kip_848(), "order")
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0)))
    assert play.member.state is MemberState.RECONCILING
    play.do(Subscribe(regex="b.*"))
    assert snapshot_of(play.member, play.now).missing_topics == frozenset()


def test_a_topic_that_is_added_while_others_are_looked_up_is_looked_up_soon() -> None:
    """The answer that is under way says nothing about it."""
    play = kip_848()
    play.advance(FIRST_LOOK_S)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    play.answer(Heartbeat, accepted(2))
    play.answer_check(there_are("orders"))
    play.advance(FIRST_LOOK_S)
    assert checks(play)[-1].topics == {"orders", "bills"}
