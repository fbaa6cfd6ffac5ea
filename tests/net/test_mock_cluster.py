"""The transport against librdkafka's mock cluster, which speaks older versions than Kafka does."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient

from membership_client.core import events
from tests.net.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mock_cluster import MockCluster


@pytest.fixture
def talk(mock_cluster: MockCluster) -> Iterator[Conversation]:
    """A conversation with a mock cluster that has a topic `orders` of four partitions."""
    AdminClient({"bootstrap.servers": mock_cluster.bootstrap_servers, "log_level": 0}).list_topics("orders", timeout=60)
    with Conversation.about("g", mock_cluster.bootstrap_servers) as conversation:
        yield conversation


@pytest.mark.parametrize("regex", [None, ""])
def test_a_member_joins_and_leaves(talk: Conversation, regex: str | None) -> None:
    """Names are never sent with a null regex, which would abort the mock's process."""
    joined = talk.join(topics=("orders",), regex=regex)
    assert joined.interval_s > 0
    assert joined.assignment is not None
    assert len(joined.assignment) == 4
    assert talk.beat(joined.epoch).epoch == joined.epoch
    assert talk.beat(-1).epoch == -1


def test_topic_names_are_resolved(talk: Conversation) -> None:
    """Ids that the mock does not know are missing from the answer."""
    assignment = talk.join(topics=("orders",)).assignment
    assert assignment is not None
    (topic,) = assignment.topics
    resolved = talk.ask(events.ResolveTopics(topic_ids=frozenset({topic, uuid4()})))
    assert resolved == events.TopicsResolved({topic: "orders"})


@pytest.mark.parametrize(
    "request_",
    [
        events.LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="deploy"),
        events.DescribeGroup(group_id="g"),
        events.DescribeSessionTimeout(group_id="g"),
    ],
)
def test_what_the_mock_lacks_is_unsupported(talk: Conversation, request_: events.Request) -> None:
    """It is not sent, so the mock lives on."""
    outcome = talk.outcome(request_)
    assert isinstance(outcome, events.Failed)
    assert outcome.kind is events.FailureKind.UNSUPPORTED
    talk.join(topics=("orders",))
