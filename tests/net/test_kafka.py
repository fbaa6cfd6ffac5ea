"""Every request against a real broker."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from membership_client.core import events
from membership_client.partitions import NOTHING, Partitions
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.net.conversation import Conversation
from tests.net.patience import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Talk = Callable[[str], Conversation]

pytestmark = pytest.mark.kafka

TOPIC = "net-orders"


@pytest.fixture(scope="module")
def admin(kafka: KafkaCluster) -> ClusterAdmin:
    """Administration of a broker that has the topic of these tests, with four partitions."""
    admin = ClusterAdmin(kafka.bootstrap_servers)
    admin.create_topic(TOPIC, partitions=4)
    return admin


@pytest.fixture
def talk(kafka: KafkaCluster, admin: ClusterAdmin) -> Iterator[Talk]:
    """Opens conversations about groups."""
    with contextlib.ExitStack() as stack:
        yield lambda group_id: stack.enter_context(Conversation.about(group_id, kafka.bootstrap_servers))


def assigned(group: Conversation, joined: events.HeartbeatAccepted) -> events.HeartbeatAccepted:
    """The first answer with partitions: a coordinator learns of new topics, and resolves patterns, by and by."""
    told = [joined]

    def has_partitions() -> bool:
        if not told[-1].assignment:
            told.append(group.beat(told[-1].epoch))
        return bool(told[-1].assignment)

    until(has_partitions)
    return told[-1]


def test_a_member_joins_by_name(talk: Talk) -> None:
    """The whole life of a member: join, own, acknowledge, leave."""
    group = talk("net-names")
    joined = assigned(group, group.join(topics=(TOPIC,)))
    assert joined.epoch > 0
    assert joined.interval_s > 0
    assert joined.assignment is not None
    assert [sorted(numbers) for numbers in joined.assignment.by_topic.values()] == [[0, 1, 2, 3]]
    owning = events.Heartbeat(group_id="net-names", member_id="m", epoch=joined.epoch, owned=joined.assignment)
    assert isinstance(group.ask(owning), events.HeartbeatAccepted)
    assert group.beat(joined.epoch).assignment is None
    assert group.beat(-1).epoch == -1


def test_a_member_joins_by_regex(talk: Talk) -> None:
    """The broker evaluates the expression."""
    group = talk("net-regex")
    joined = assigned(group, group.join(regex="net-ord.*"))
    assert joined.assignment is not None
    assert len(joined.assignment) == 4


def test_an_empty_subscription_is_accepted(talk: Talk) -> None:
    """A member without topics is a member; it owns nothing, and the broker says so."""
    assert talk("net-empty").join(topics=(), regex="").assignment == NOTHING


def test_a_static_member_leaves_for_a_while(talk: Talk) -> None:
    """Epoch -2, and the next incarnation gets the same partitions."""
    group = talk("net-static")
    first = group.join("first", topics=(TOPIC,), instance_id="slot-1")
    assert group.beat(-2, "first", instance_id="slot-1").epoch == -2
    second = group.join("second", topics=(TOPIC,), instance_id="slot-1")
    assert second.assignment == first.assignment


def test_a_member_leaves_with_a_reason(talk: Talk, kafka: KafkaCluster) -> None:
    """LeaveGroup v5 removes a member of the consumer protocol, and the broker logs why."""
    group = talk("net-reason")
    group.join(topics=(TOPIC,))
    leave = events.LeaveGroup(group_id="net-reason", member_id="m", instance_id=None, reason="the reason is ours")
    assert group.ask(leave) == events.GroupLeft()
    until(lambda: "the reason is ours" in kafka.log())
    refused = group.ask(leave)
    assert isinstance(refused, events.Refused)
    assert refused.code in {25, 69}


def test_topic_names_are_resolved(talk: Talk) -> None:
    """Ids that the broker does not know are missing from the answer."""
    group = talk("net-resolve")
    assignment = group.join(topics=(TOPIC,)).assignment
    assert assignment is not None
    (topic,) = assignment.topics
    resolved = group.ask(events.ResolveTopics(topic_ids=frozenset({topic, uuid4()})))
    assert resolved == events.TopicsResolved({topic: TOPIC})
    assert group.ask(events.ResolveTopics(topic_ids=frozenset())) == events.TopicsResolved({})


def test_a_group_is_described(talk: Talk) -> None:
    """Its members, with what identifies them to people."""
    group = talk("net-describe")
    group.join("m", topics=(TOPIC,), instance_id="slot-1")
    described = group.ask(events.DescribeGroup(group_id="net-describe"))
    assert isinstance(described, events.GroupDescribed)
    (member,) = described.members
    assert (member.member_id, member.instance_id, member.client_id) == ("m", "slot-1", "tester")
    assert "127.0.0.1" in member.host


def test_an_unknown_group_is_refused(talk: Talk) -> None:
    """GROUP_ID_NOT_FOUND, in the broker's own words."""
    refused = talk("net-nobody").ask(events.DescribeGroup(group_id="net-nobody"))
    assert isinstance(refused, events.Refused)
    assert refused.code == 69
    assert "net-nobody" in (refused.message or "")


def test_the_session_timeout_is_told(talk: Talk, admin: ClusterAdmin) -> None:
    """The group's own setting, also before the group exists."""
    admin.set_group_config("net-timeout", consumer_session_timeout_ms=47_000)
    group = talk("net-timeout")
    request = events.DescribeSessionTimeout(group_id="net-timeout")
    until(lambda: group.ask(request) == events.SessionTimeoutDescribed(47.0))


def test_a_fenced_member_is_refused(talk: Talk) -> None:
    """An error code is an answer, and carries the broker's explanation."""
    group = talk("net-fenced")
    joined = group.join(topics=(TOPIC,))
    refused = group.ask(events.Heartbeat(group_id="net-fenced", member_id="m", epoch=joined.epoch + 7))
    assert isinstance(refused, events.Refused)
    assert refused.code == 110
    assert refused.message


def test_a_large_owned_list_is_understood(talk: Talk) -> None:
    """Our bytes for thousands of partitions are the broker's bytes: it finds that we claim what is not ours."""
    group = talk("net-large")
    joined = group.join(topics=(TOPIC,))
    claimed = Partitions.of({uuid4(): range(100) for _ in range(200)})
    response = group.ask(events.Heartbeat(group_id="net-large", member_id="m", epoch=joined.epoch, owned=claimed))
    assert isinstance(response, events.HeartbeatAccepted | events.Refused)
    assert group.beat(joined.epoch).epoch == joined.epoch
