"""consume() on executors with several cores, of which each slot has one for itself; and a classic group there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.clusters.standalone import StandaloneCluster
from tests.spark.consume.fleet import Fleet, is_undisturbed
from tests.spark.consume.scenes import executor_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

CLASSIC = {"group.protocol": "classic", "session.timeout.ms": 120_000}


@pytest.fixture
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Two Workers that could run two slots each."""
    with StandaloneCluster(tmp_path_factory.mktemp("roomy"), workers=2, cores=2) as cluster:
        yield cluster


def test_each_slot_has_an_executor_for_itself(
    patient_kafka: KafkaCluster, roomy: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One that lost its executor waits for the next, although the other slot's has a core to spare.

    KIP-345: the newcomer wins by itself, the leader keeps its plan, and the broker prepares no rebalance.
    """
    settings = sessions.standalone(roomy)
    with Fleet(patient_kafka, tmp_path_factory.mktemp("classic"), settings, config=CLASSIC) as fleet:
        before, rebalances = fleet.running(), fleet.classic_rebalances()
        assert before[0]["executor"] != before[1]["executor"]
        executor_of(roomy.executors(), before[0]).kill()
        after = fleet.wait_restarted(0, before)
        assert after[0]["executor"] not in {before[0]["executor"], before[1]["executor"]}
        assert after[0]["partitions"] == before[0]["partitions"]
        assert is_undisturbed(before[1], after[1])
        assert fleet.classic_rebalances() == rebalances > 0
        fleet.assert_nothing_lost()
