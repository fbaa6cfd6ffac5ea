"""One JVM for all Java consumers that are not to be killed, and groups whose members are gone when the test is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest

from membership_client.testing import KafkaCluster
from tests.peers.group import PeerGroup
from tests.peers.jvm import PeerJvm

QUICK = {"consumer_heartbeat_interval_ms": 100, "consumer_assignment_interval_ms": 0}


class GroupFactory(Protocol):
    """The arguments are settings of the group, such as consumer_session_timeout_ms."""

    def __call__(self, **settings: int) -> PeerGroup: ...


@pytest.fixture(scope="session")
def peer_jvm() -> Iterator[PeerJvm]:
    with PeerJvm() as jvm:
        yield jvm


@pytest.fixture
def new_group(kafka: KafkaCluster, peer_jvm: PeerJvm) -> Iterator[GroupFactory]:
    """Groups of six partitions. Heartbeats come often and assignments at once, unless the settings say otherwise."""
    made: list[PeerGroup] = []

    def make(**settings: int) -> PeerGroup:
        made.append(PeerGroup(kafka.bootstrap_servers, peer_jvm, "peers", **(QUICK | settings)))
        return made[-1]

    yield make
    for group in made:
        group.close()


@pytest.fixture
def group(new_group: GroupFactory) -> PeerGroup:
    return new_group()
