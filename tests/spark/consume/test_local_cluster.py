"""consume() on Spark's cluster in one process, the one for which nothing has to be started first; and a classic group."""

from __future__ import annotations

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.consume.fleet import Fleet, is_undisturbed
from tests.spark.consume.scenes import executor_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]

CLASSIC = {"group.protocol": "classic", "session.timeout.ms": 120_000}


def test_each_slot_has_an_executor_for_itself(
    patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After kill -9 of one a slot waits for the next, although the other slot's executor has a core to spare.

    KIP-345: the newcomer wins by itself, the leader keeps its plan, and the broker prepares no rebalance.
    """
    settings = sessions.local_cluster(cores=2)
    with Fleet(patient_kafka, tmp_path_factory.mktemp("local-cluster"), settings, config=CLASSIC) as fleet:
        before, rebalances = fleet.running(), fleet.classic_rebalances()
        assert before[0]["executor"] != before[1]["executor"]
        executor_of(fleet.driver.executors(), before[0]).kill()
        after = fleet.wait_restarted(0, before)
        assert after[0]["executor"] not in {before[0]["executor"], before[1]["executor"]}
        assert after[0]["partitions"] == before[0]["partitions"]
        assert is_undisturbed(before[1], after[1])
        assert fleet.classic_rebalances() == rebalances > 0
        fleet.assert_nothing_lost()
