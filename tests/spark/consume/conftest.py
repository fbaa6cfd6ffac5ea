"""A broker whose groups may have sessions of any length: long ones for what must cost no rebalance, short ones for the contrary."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from membership_client.testing import KafkaCluster

_LIMITS = {
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.max.session.timeout.ms": 600_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
}


@pytest.fixture(scope="session")
def patient_kafka() -> Iterator[KafkaCluster]:
    """One for all tests of slots."""
    with KafkaCluster(settings=_LIMITS) as cluster:
        yield cluster
