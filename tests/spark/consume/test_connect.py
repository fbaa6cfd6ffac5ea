"""consume() from a client of Spark Connect, whose slots run on the server's executors."""

from __future__ import annotations

import signal

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.clusters.connect_server import ConnectServer
from tests.spark.clusters.processes import send
from tests.spark.consume.fleet import Fleet
from tests.spark.consume.scenes import assert_only_moved

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]


def test_slots_of_a_connect_client_survive_their_workers(
    patient_kafka: KafkaCluster, connect_server: ConnectServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The client is the driver in our sense: it has the leases, hears the slots, and starts them again."""
    with Fleet(patient_kafka, tmp_path_factory.mktemp("connect"), sessions.connected(connect_server)) as fleet:
        before, epoch = fleet.running(), fleet.epoch()
        send(before[0]["pid"], signal.SIGKILL)
        assert_only_moved(0, fleet, before, epoch)
        fleet.driver.end_input()
        fleet.driver.wait_for("stopped")
        assert fleet.epoch() == epoch
