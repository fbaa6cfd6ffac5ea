"""consume() where executors come and go with the work."""

from __future__ import annotations

import time

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.clusters.standalone import StandaloneCluster
from tests.spark.consume.fleet import Fleet, is_undisturbed
from tests.spark.consume.scenes import assert_only_moved, executor_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

IDLE_S = 3

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.executorIdleTimeout": f"{IDLE_S}s",
    "spark.scheduler.minRegisteredResourcesRatio": "0.0",
}


def test_executors_are_asked_for_kept_and_replaced(
    patient_kafka: KafkaCluster, standalone: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Slots get executors where there were none, are not idle in Spark's eyes, and a lost one is replaced as ever."""
    settings = sessions.standalone(standalone, DYNAMIC)
    with Fleet(patient_kafka, tmp_path_factory.mktemp("dynamic"), settings) as fleet:
        before, epoch = fleet.running(), fleet.epoch()
        time.sleep(2 * IDLE_S)  # Nothing else shows that an executor would not be taken away.
        assert all(is_undisturbed(before[slot], one) for slot, one in fleet.wait_steady().items())
        executor_of(standalone.executors(), before[0]).kill()
        assert_only_moved(0, fleet, before, epoch)
