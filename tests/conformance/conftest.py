"""Real brokers to compare the fake with, and a word at the end of a run about how much was compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from membership_client.testing import KafkaCluster
from tests.conformance.stage import Stage
from tests.conformance.tally import Tally
from tests.summaries import add_summary

ROOM = 2


@pytest.fixture(scope="session")
def stage(kafka: KafkaCluster) -> Stage:
    """On the broker that the whole run shares."""
    return Stage(kafka.bootstrap_servers)


@pytest.fixture(scope="session")
def small_kafka() -> Iterator[KafkaCluster]:
    """A broker whose groups, of either protocol, have room for two members."""
    with KafkaCluster(settings={"group.consumer.max.size": ROOM, "group.max.size": ROOM}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def small_stage(small_kafka: KafkaCluster) -> Stage:
    return Stage(small_kafka.bootstrap_servers, max_size=ROOM)


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    made = Tally()
    add_summary(pytestconfig, made)
    return made
