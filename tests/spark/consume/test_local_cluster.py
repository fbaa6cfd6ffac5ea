"""consume() on Spark's cluster in one process, the one for which nothing has to be started first."""

from __future__ import annotations

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.consume.fleet import Fleet
from tests.spark.consume.scenes import assert_only_moved, executor_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]


def test_a_killed_executor(patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kill -9 of the JVM that runs a slot; there is no other free one, so the slot waits for a new one."""
    with Fleet(patient_kafka, tmp_path_factory.mktemp("local-cluster"), sessions.local_cluster()) as fleet:
        before, epoch = fleet.running(), fleet.epoch()
        lost = executor_of(fleet.driver.executors(), before[0])
        lost.kill()
        after = assert_only_moved(0, fleet, before, epoch)
        assert after[0]["executor"] != lost.executor_id
