"""consume() in local mode: handlers that raise, workers that die, drivers that are replaced, and what is refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from membership_client.testing import KafkaCluster
from membership_client.trace import read_trace
from tests.integration.members import eventually
from tests.spark.clusters import sessions
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.clusters.processes import is_running
from tests.spark.consume.fleet import Fleet

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def fleet(patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One job for all tests of this file; those that end it let the next one start it again."""
    home = tmp_path_factory.mktemp("local-fleet")
    with Fleet(patient_kafka, home, sessions.local(), config={"trace.file": str(home / "trace.jsonl")}) as made:
        yield made


def test_a_trace_tells_which_slot_and_which_attempt_wrote_it(fleet: Fleet) -> None:
    """Each slot is a job of one task, so the number of its partition would be 0 for all."""
    fleet.running()
    for slot in range(2):
        (section, *_) = read_trace(fleet.home / f"trace-{slot}.jsonl")
        assert str(section.header["spark"]).startswith(f"slot {slot} of slot, stage ")


def test_a_python_worker_that_is_killed_comes_back_without_a_rebalance(fleet: Fleet) -> None:
    """Kill -9: the next attempt takes its own instance id over, and the other slot does not notice."""
    before, epoch = fleet.running(), fleet.epoch()
    os.kill(before[0]["pid"], signal.SIGKILL)
    after = fleet.wait_restarted(0, before)
    assert after[1] == before[1]
    assert after[0]["partitions"] == before[0]["partitions"]
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()


def test_a_worker_that_is_told_to_end_leaves_and_comes_back(fleet: Fleet) -> None:
    """SIGTERM of a Python worker is a move, not a failure: a temporary leave, and another attempt."""
    before, epoch = fleet.running(), fleet.epoch()
    os.kill(before[1]["pid"], signal.SIGTERM)
    after = fleet.wait_restarted(1, before)
    assert after[0] == before[0]
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()


def test_cancelled_jobs_are_submitted_again_without_a_rebalance(fleet: Fleet) -> None:
    """Somebody cancels all jobs of the application: every slot leaves temporarily and is back with its partitions."""
    before, epoch = fleet.running(), fleet.epoch()
    fleet.driver.tell("cancel")
    fleet.wait_restarted(0, before)
    after = fleet.wait_restarted(1, before)
    assert [after[slot]["partitions"] for slot in after] == [before[slot]["partitions"] for slot in before]
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()


def test_slots_go_and_come_while_the_job_runs(fleet: Fleet) -> None:
    """A removed slot leaves for good at once, and its reason is in the broker's log; a new one joins."""
    fleet.running()
    fleet.driver.tell("scale 1 the night is quiet")
    fleet.wait_steady(1)
    eventually(lambda: "the night is quiet" in fleet.kafka.log(), "the reason in the broker's log", PATIENCE_S)
    fleet.driver.tell("scale 2 the morning is not")
    fleet.wait_steady(2)
    fleet.assert_nothing_lost()


def test_a_newer_driver_takes_the_slots_over_and_the_older_one_ends(fleet: Fleet) -> None:
    """Without a rebalance, without a lost record; the older driver says who has its slots and does not fight back.

    One of its workers sleeps meanwhile, in the handler: when it wakes up it hands out nothing more. It used to be put to
    sleep anywhere, and rarely between a look at its membership and the handler, where nothing can help.
    """
    before, epoch, older = fleet.running(), fleet.epoch(), fleet.driver
    fleet.hold(0)
    os.kill(before[0]["pid"], signal.SIGSTOP)
    fleet.release(0)
    fleet.start()
    after = fleet.wait_steady()
    assert [after[slot]["partitions"] for slot in after] == [before[slot]["partitions"] for slot in before]
    zombie = f"slot-0@{before[0]['incarnation']}"
    handed_out = fleet.deliveries(zombie)
    os.kill(before[0]["pid"], signal.SIGCONT)
    assert older.wait_for("failed")["kind_of_error"] == "SupersededError"
    eventually(lambda: not is_running(before[0]["pid"]), "the zombie's end", PATIENCE_S)
    assert fleet.deliveries(zombie) == handed_out
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()


def test_stopping_the_job_leaves_temporarily(fleet: Fleet) -> None:
    """What was handed to handlers is committed, the group stays as it is, and the next driver goes on from there."""
    fleet.running()
    epoch = fleet.epoch()
    fleet.driver.end_input()
    fleet.driver.wait_for("stopped")
    delivered = fleet.deliveries()
    fleet.running()
    fleet.assert_nothing_lost()
    assert fleet.epoch() == epoch
    assert {place: count for place, count in fleet.deliveries().items() if place in delivered} == delivered


def test_a_handler_that_raises_ends_the_job_with_its_error_and_loses_nothing(fleet: Fleet) -> None:
    """After as many tries as Spark allows; what it raised on is not committed, and the next job gets it."""
    fleet.running()
    (fleet.directory / "fail").touch()
    failed = fleet.driver.wait_for("failed")
    assert failed["kind_of_error"] == "SlotFailedError"
    assert "ValueError: this record cannot be handled" in failed["error"]
    (fleet.directory / "fail").unlink()
    fleet.running()
    fleet.assert_nothing_lost()


def test_slots_of_a_classic_group(patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """KIP-345: the newcomer wins by itself, the leader keeps its plan, and the broker prepares no rebalance."""
    classic = {"group.protocol": "classic", "session.timeout.ms": 120_000}
    with Fleet(patient_kafka, tmp_path_factory.mktemp("classic"), sessions.local(), config=classic) as fleet:
        before, rebalances = fleet.running(), fleet.classic_rebalances()
        os.kill(before[0]["pid"], signal.SIGKILL)
        after = fleet.wait_restarted(0, before)
        assert after[0]["partitions"] == before[0]["partitions"]
        assert after[1] == before[1]
        assert fleet.classic_rebalances() == rebalances > 0
        fleet.assert_nothing_lost()


def test_speculation_is_refused(fleet: Fleet) -> None:
    """Spark would start a second copy of a slot, with the same instance id, and the copies would fight."""
    driver = fleet.start(sessions.local({"spark.speculation": "true"}))
    assert "spark.speculation=false" in driver.wait_for("refused")["error"]
