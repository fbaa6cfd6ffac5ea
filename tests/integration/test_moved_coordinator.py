"""A coordinator that moves to another broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from tests.integration.undisturbed import assert_outlives_its_coordinator

if TYPE_CHECKING:
    from tests.integration.conftest import GroupFactory

pytestmark = pytest.mark.kafka


def test_a_coordinator_that_is_terminated_is_replaced(kafka_cluster: KafkaCluster, new_group: GroupFactory) -> None:
    """The member finds the next one by itself, keeps its partitions and its epoch, and shares them when asked to."""
    assert_outlives_its_coordinator(kafka_cluster, new_group(kafka_cluster), KafkaCluster.terminate)
