"""The clusters that other tests rely on: distinct hosts, replaced executors, nothing left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.members import eventually
from tests.integration.speaking import SpeakingProcess
from tests.spark.clusters import abandoned, roll_call, sessions
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.clusters.notes import Notes
from tests.spark.clusters.processes import family, is_running
from tests.spark.clusters.standalone import StandaloneCluster

if TYPE_CHECKING:
    from tests.spark.conftest import DriverFactory

# Up to a dozen JVMs start one after the other, on a machine that may run everything else at once.
pytestmark = [pytest.mark.timeout(360), pytest.mark.deep]

ROLL_CALL = Path(roll_call.__file__)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


def test_a_lost_host_is_replaced_and_what_is_paused_does_not_outlast_a_test(
    standalone: StandaloneCluster, new_driver: DriverFactory, notes: Notes
) -> None:
    """Each executor is on another host, to Spark: with it a slot loses its place, and runs again on a Worker started in its stead.

    A restored cluster has the Workers it began with, and neither the executor nor the Worker that was paused.
    """
    driver = new_driver(ROLL_CALL, sessions.standalone(standalone), notes.task(slots=3))
    attending = [notes.wait_for(slot) for slot in range(3)]
    assert {note["host"] for note in attending} == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}
    executors = {executor.host: executor for executor in standalone.executors()}
    assert all(note["pid"] in executors[note["host"]].python_workers for note in attending)
    lost = attending[2]
    standalone.lose_host(lost["host"])
    eventually(lambda: lost["host"] not in standalone.registered_hosts(), "the Master misses the Worker")
    standalone.start_worker("127.0.0.9")
    assert notes.wait_for(slot=2, attempt=1)["host"] == "127.0.0.9"
    at_home = [executor for executor in standalone.executors() if executor.host != "127.0.0.9"]
    first, second = at_home
    paused_worker = standalone.worker(second.host)
    first.pause()
    paused_worker.pause()
    driver.kill()
    standalone.restore()
    eventually(lambda: not is_running(first.pid), "the end of the paused executor")
    assert family(paused_worker.pid) == []
    assert not standalone.worker(second.host).is_paused
    assert standalone.registered_hosts() == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}


def test_nothing_is_left_of_a_killed_test_run(tmp_path: Path) -> None:
    """The guard ends cluster and driver, even a paused executor, when the process that started them is gone."""
    run = SpeakingProcess(Path(abandoned.__file__), {"directory": str(tmp_path)})
    try:
        eventually(lambda: run.said, "a cluster in another process", 2 * PATIENCE_S)
    finally:
        run.stop()
    pids = run.said[0]["pids"]
    assert len(pids) > 5
    eventually(lambda: not [pid for pid in pids if is_running(pid)], f"the end of {pids}")
