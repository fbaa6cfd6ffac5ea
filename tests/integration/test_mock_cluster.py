"""librdkafka's mock cluster: another coordinator, with ways of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from membership_client import GroupMember, MemberState
from tests.integration.members import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.mock_cluster import MockCluster

PARTITIONS = 4


@pytest.fixture
def join(mock_cluster: MockCluster) -> Iterator[Callable[..., GroupMember]]:
    """Members of one group, closed at the end."""
    # It has the topics that were asked for by name, and members do not do that.
    Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "log_level": 0}).list_topics("topic", timeout=10)
    with contextlib.ExitStack() as members:

        def start(instance_id: str | None = None) -> GroupMember:
            settings = {"bootstrap_servers": mock_cluster.bootstrap_servers, "group_id": "mocked"}
            member = members.enter_context(GroupMember({**settings, "group_instance_id": instance_id}))
            member.subscribe(["topic"])
            return member

        yield start


def test_two_members_share(join: Callable[..., GroupMember]) -> None:
    """The second one is made to wait with epoch 0, which is no error, and gets its half."""
    first = join()
    first.wait_until(lambda snapshot: len(snapshot.owned) == PARTITIONS, PATIENCE_S)
    second = join()
    eventually(lambda: len(first.assignment()) == len(second.assignment()) == PARTITIONS // 2, "a half each")
    assert not first.assignment() & second.assignment()
    assert second.close().clean
    first.wait_until(lambda snapshot: len(snapshot.owned) == PARTITIONS, PATIENCE_S)


def test_a_static_member_returns(join: Callable[..., GroupMember]) -> None:
    """After a temporary leave its successor gets the partitions."""
    first = join("one")
    owned = first.wait_until(lambda snapshot: len(snapshot.owned) == PARTITIONS, PATIENCE_S).owned
    assert first.close().steps[-1].outcome == "confirmed as temporary"
    successor = join("one")
    again = successor.wait_until(lambda s: s.state is MemberState.STABLE and bool(s.owned), PATIENCE_S)
    assert again.owned == owned
