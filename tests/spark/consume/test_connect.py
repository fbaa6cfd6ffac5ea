"""consume() from a client of Spark Connect, whose slots run on the server's executors."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.clusters import sessions
from tests.spark.clusters.connect_server import ConnectServer
from tests.spark.clusters.processes import send
from tests.spark.consume.fleet import Fleet
from tests.spark.consume.scenes import assert_only_moved, remove_who_cannot_leave

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def fleet(
    patient_kafka: KafkaCluster, connect_server: ConnectServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """One client for all tests of this file."""
    with Fleet(patient_kafka, tmp_path_factory.mktemp("connect"), sessions.connected(connect_server)) as made:
        yield made


def test_slots_of_a_connect_client_survive_their_workers(fleet: Fleet) -> None:
    """The client is the driver in our sense: it has the leases, hears the slots, and starts them again."""
    before, epoch = fleet.running(), fleet.epoch()
    send(before[0]["pid"], signal.SIGKILL)
    assert_only_moved(0, fleet, before, epoch)


def test_a_slot_that_hangs_is_cancelled_and_removed(fleet: Fleet) -> None:
    """The client has its server end the job, and with it the worker."""
    remove_who_cannot_leave(fleet, is_hung=True)


def test_stopping_leaves_temporarily(fleet: Fleet) -> None:
    """The group stays as it is."""
    fleet.running()
    epoch = fleet.epoch()
    fleet.driver.end_input()
    fleet.driver.wait_for("stopped")
    assert fleet.epoch() == epoch
