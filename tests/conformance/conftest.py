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


@pytest.fixture(scope="module")
def small_stage() -> Iterator[Stage]:
    """On a broker whose groups have room for two members."""
    with KafkaCluster(settings={"group.consumer.max.size": ROOM}) as cluster:
        yield Stage(cluster.bootstrap_servers, max_size=ROOM)


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    made = Tally()
    add_summary(pytestconfig, made)
    return made
