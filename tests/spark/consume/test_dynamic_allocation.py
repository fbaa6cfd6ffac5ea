"""consume() where executors come and go with the work."""

from __future__ import annotations

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.clusters.standalone import StandaloneCluster
from tests.spark.consume.fleet import Fleet
from tests.spark.consume.test_losses import assert_only_moved, executor_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.scheduler.minRegisteredResourcesRatio": "0.0",
}


def test_executors_are_asked_for_kept_and_replaced(
    patient_kafka: KafkaCluster, standalone: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Slots get executors where there were none, are not idle in Spark's eyes, and a lost one is replaced as ever."""
    settings = sessions.standalone(standalone, DYNAMIC)
    with Fleet(patient_kafka, tmp_path_factory.mktemp("dynamic"), settings) as fleet:
        before, epoch = fleet.running(), fleet.epoch()
        executor_of(standalone, before[0]).kill()
        assert_only_moved(0, fleet, before, epoch)
