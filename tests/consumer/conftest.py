"""Fixtures: a topic and a group for each test; consumers that a test left open are closed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import pytest

from membership_client.testing import KafkaCluster
from tests.consumer.helpers import World


class NewWorld(Protocol):
    """`settings` are the group's, such as consumer_session_timeout_ms."""

    def __call__(self, partitions: int = 4, **settings: int) -> World: ...


@pytest.fixture
def new_world(kafka: KafkaCluster, request: pytest.FixtureRequest) -> Iterator[NewWorld]:
    """On the shared broker."""
    made: list[World] = []

    def make(partitions: int = 4, **settings: int) -> World:
        name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:60].strip("-")
        made.append(World(kafka.bootstrap_servers, name, partitions, **settings))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.fixture
def world(new_world: NewWorld) -> World:
    """Four partitions, without records."""
    return new_world()
