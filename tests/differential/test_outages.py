"""Random programs in which the broker stops and comes back, with both libraries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client.testing import KafkaCluster
from tests.differential.both import play_both
from tests.differential.outage import Outage
from tests.differential.play import World

pytestmark = [pytest.mark.kafka, pytest.mark.deep, pytest.mark.timeout(600)]

SEEDS = range(6)


def test_a_broker_that_stops_makes_no_difference(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """What programs return, raise, deliver and commit during and after the outage is the same."""
    cluster = kafka_factory()
    world = World(cluster.bootstrap_servers, Outage(cluster))
    mismatches = [mismatch for seed in SEEDS for mismatch in play_both(seed, world)]
    assert not mismatches, "\n\n".join(map(str, mismatches))
