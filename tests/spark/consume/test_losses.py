"""consume() on a cluster of three hosts: whatever is lost, the group does not rebalance and no record is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.spark.clusters import sessions
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.clusters.processes import is_running, send
from tests.spark.clusters.standalone import StandaloneCluster
from tests.spark.consume.fleet import Fleet, is_undisturbed
from tests.spark.consume.scenes import assert_only_moved, cancel_all_jobs, executor_of, scale_down_and_up

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]

QUICK_TO_NOTICE = {
    # A lost executor is noticed within this time if its connection does not tell.
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "2s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.decommission.enabled": "true",
}

IDLE_S = 3

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.executorIdleTimeout": f"{IDLE_S}s",
    "spark.scheduler.minRegisteredResourcesRatio": "0.0",
}


@pytest.fixture(scope="module")
def fleet(
    patient_kafka: KafkaCluster,
    standalone_of_the_run: StandaloneCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Fleet]:
    """Two slots on three hosts, for all tests of this file."""
    settings = sessions.standalone(standalone_of_the_run, QUICK_TO_NOTICE)
    with Fleet(patient_kafka, tmp_path_factory.mktemp("fleet"), settings) as made:
        yield made


def test_a_killed_executor(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """Kill -9 of the JVM that runs a slot."""
    before, epoch = fleet.running(), fleet.epoch()
    executor_of(standalone.executors(), before[0]).kill()
    assert_only_moved(0, fleet, before, epoch)


def test_a_killed_python_worker(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """Kill -9 of the process that is the member; its executor goes on."""
    before, epoch = fleet.running(), fleet.epoch()
    send(before[1]["pid"], signal.SIGKILL)
    assert_only_moved(1, fleet, before, epoch)


def test_a_lost_host(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """Worker and executor vanish together; the slot goes to another host."""
    before, epoch = fleet.running(), fleet.epoch()
    host = executor_of(standalone.executors(), before[0]).host
    assert before[0]["host"] == host
    standalone.lose_host(host)
    after = assert_only_moved(0, fleet, before, epoch)
    assert after[0]["host"] != host


def test_an_executor_that_is_told_to_end(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """SIGTERM: its slot leaves temporarily before the process ends, and says why."""
    before, epoch = fleet.running(), fleet.epoch()
    executor_of(standalone.executors(), before[1]).terminate()
    assert_only_moved(1, fleet, before, epoch)
    assert fleet.farewell(1, before[1]["incarnation"]) == ("TEMPORARY", "SIGHUP: the executor ended")


def test_a_decommissioned_executor(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """The slot is moved away at once, although Spark itself would let its task run to its end, which never comes."""
    before, epoch = fleet.running(), fleet.epoch()
    leaving = executor_of(standalone.executors(), before[0])
    leaving.decommission()
    after = assert_only_moved(0, fleet, before, epoch)
    assert after[0]["executor"] != leaving.executor_id
    reason = f"executor {leaving.executor_id} is being decommissioned"
    assert fleet.farewell(0, before[0]["incarnation"]) == ("TEMPORARY", reason)


def test_cancelled_jobs_are_submitted_again(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """All jobs of the application are cancelled from outside."""
    cancel_all_jobs(fleet)


def test_slots_go_and_come_while_the_job_runs(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """To one slot and back to two."""
    scale_down_and_up(fleet)


def test_a_silent_executor(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """A JVM that stops for longer than Spark waits: its Python worker, still alive, closes before its successor joins.

    When the JVM goes on, the old worker is no member any more, and no record passes through two hands.
    """
    before, epoch = fleet.running(), fleet.epoch()
    earlier = fleet.deliveries()
    refused = len(fleet.refused_commits(0))
    silent = executor_of(standalone.executors(), before[0])
    silent.pause()
    assert_only_moved(0, fleet, before, epoch)
    mode, reason = fleet.farewell(0, before[0]["incarnation"]) or ("", "")
    assert (mode, reason.partition(" ")[0]) == ("TEMPORARY", "incarnation")
    assert len(fleet.refused_commits(0)) == refused
    zombie = f"slot-0@{before[0]['incarnation']}"
    handed_out = fleet.deliveries(zombie)
    silent.resume()
    fleet.assert_nothing_lost()
    assert fleet.deliveries(zombie) == handed_out
    assert {count for record, count in fleet.deliveries().items() if record not in earlier} == {1}


def test_a_host_that_sleeps_and_wakes_up_too_late(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """Worker, executor and the slot's Python worker stop in the middle of a batch, and go on when another has the slot.

    A zombie: it answers nobody, so it is not waited for longer than the grace. It goes on where it was, and commits,
    which is refused; it hands out nothing more. Without its Spark Worker it would not sleep long enough: that kills a
    silent JVM, and the system wakes a process up whose parent is gone.
    """
    before, epoch = fleet.running(), fleet.epoch()
    zombie, refused = f"slot-0@{before[0]['incarnation']}", len(fleet.refused_commits(0))
    executor = executor_of(standalone.executors(), before[0])
    host = standalone.worker(executor.host)
    fleet.hold(0)
    host.pause()
    fleet.release(0)
    assert_only_moved(0, fleet, before, epoch)
    handed_out, committed = fleet.deliveries(zombie), fleet.view().committed
    assert len(fleet.refused_commits(0)) == refused
    host.resume()
    sleepers = (executor.pid, before[0]["pid"])
    eventually(lambda: not any(map(is_running, sleepers)), "the zombie's end", PATIENCE_S)
    assert fleet.deliveries(zombie) == handed_out
    assert len(fleet.refused_commits(0)) == refused + 1
    assert all(now.offset >= committed[place].offset for place, now in fleet.view().committed.items())
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()


def test_a_killed_driver_is_started_again_where_executors_come_and_go(
    fleet: Fleet, standalone: StandaloneCluster
) -> None:
    """Kill -9 of the driver takes all executors along; the next driver's slots take over from the dead ones.

    With dynamic allocation they get executors where there were none, are not idle in Spark's eyes, and a lost one is
    replaced as ever.
    """
    before, epoch = fleet.running(), fleet.epoch()
    fleet.driver.kill()
    fleet.driver.wait_ended()
    fleet.start(sessions.standalone(standalone, QUICK_TO_NOTICE | DYNAMIC))
    after = fleet.wait_steady()
    assert all(after[slot]["incarnation"] != before[slot]["incarnation"] for slot in before)
    assert [after[slot]["partitions"] for slot in after] == [before[slot]["partitions"] for slot in before]
    assert fleet.epoch() == epoch
    time.sleep(2 * IDLE_S)  # Nothing else shows that an executor would not be taken away.
    assert all(is_undisturbed(after[slot], one) for slot, one in fleet.wait_steady().items())
    executor_of(standalone.executors(), after[0]).kill()
    assert_only_moved(0, fleet, after, epoch)


def test_a_session_that_is_too_short_costs_rebalances(fleet: Fleet, standalone: StandaloneCluster) -> None:
    """The control: with a session shorter than Spark needs to replace a slot, the same loss does raise the group's epoch.

    And nothing else does: on a busy machine a member may miss its session without having lost anything.
    """
    fleet.set_session(1.0)
    fleet.running()
    epoch, before = fleet.quiet_epoch(3.0), fleet.running()
    executor_of(standalone.executors(), before[0]).kill()
    fleet.wait_restarted(0, before)
    eventually(lambda: fleet.epoch() > epoch, "a rebalance", PATIENCE_S)
    fleet.assert_nothing_lost()
