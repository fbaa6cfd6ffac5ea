"""Groups of a test's own; their members are closed also when the test failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import pytest

from membership_client.testing import KafkaCluster
from tests.integration.members import QUICK, Group

if TYPE_CHECKING:
    from collections.abc import Iterator


class GroupFactory(Protocol):
    """`partitions` of the group's topic; the other arguments are group settings, such as consumer_session_timeout_ms."""

    def __call__(self, cluster: KafkaCluster, partitions: int = 6, **settings: int) -> Group: ...


@pytest.fixture
def new_group(request: pytest.FixtureRequest) -> Iterator[GroupFactory]:
    """Makes groups on any cluster. Heartbeats come often and assignments at once, unless the settings say otherwise."""
    made: list[Group] = []

    def make(cluster: KafkaCluster, partitions: int = 6, **settings: int) -> Group:
        group = Group(cluster.bootstrap_servers, _short_name(request.node.name))
        made.append(group)
        group.create_topic(group.topic, partitions)
        group.admin.set_group_config(group.id, **(QUICK | settings))
        return group

    yield make
    for group in made:
        group.close()


@pytest.fixture
def group(kafka: KafkaCluster, new_group: GroupFactory) -> Group:
    """A group on the shared broker, whose topic has six partitions."""
    return new_group(kafka)


def _short_name(test: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_"))[:60].strip("-")
