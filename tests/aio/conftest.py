"""Fixtures: a group and a topic for each test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import pytest

from membership_client.testing import KafkaCluster
from tests.aio.helpers import Stage
from tests.integration.members import QUICK, Group


class NewStage(Protocol):
    """`settings` are the group's, such as consumer_session_timeout_ms."""

    def __call__(self, partitions: int = 4, **settings: int) -> Stage: ...


@pytest.fixture
def new_stage(kafka: KafkaCluster, request: pytest.FixtureRequest) -> Iterator[NewStage]:
    """On the shared broker."""
    groups: list[Group] = []

    def make(partitions: int = 4, **settings: int) -> Stage:
        name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:60].strip("-")
        group = Group(kafka.bootstrap_servers, name)
        groups.append(group)
        group.admin.set_group_config(group.id, **(QUICK | settings))
        group.create_topic(group.topic, partitions)
        return Stage(group, partitions)

    yield make
    for group in groups:
        group.close()


@pytest.fixture
def stage(new_stage: NewStage) -> Stage:
    """Four partitions, without records."""
    return new_stage()
