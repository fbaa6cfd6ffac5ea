"""consume() in local mode: handlers that raise, workers that die, drivers that are replaced, and what is refused."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest

from membership_client import GroupNotFoundError, TopicPartition
from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.spark.clusters import sessions
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.clusters.processes import is_running
from tests.spark.consume.fleet import PARTITIONS, Fleet
from tests.spark.consume.scenes import (
    assert_only_moved,
    cancel_all_jobs,
    handler_raises,
    remove_who_cannot_leave,
    scale_down_and_up,
)

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]


@pytest.fixture(scope="module")
def fleet(patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One job for all tests of this file; those that end it let the next one start it again."""
    home = tmp_path_factory.mktemp("local-fleet")
    with Fleet(patient_kafka, home, sessions.local()) as made:
        yield made


def test_a_trace_tells_which_slot_and_which_attempt_wrote_it(fleet: Fleet) -> None:
    """Each slot is a job of one task, so the number of its partition would be 0 for all."""
    fleet.running()
    for slot in range(2):
        (section, *_) = fleet.trace(slot)
        assert str(section.header["spark"]).startswith(f"slot {slot} of slot, stage ")


def test_a_python_worker_that_is_killed_comes_back_without_a_rebalance(fleet: Fleet) -> None:
    """Kill -9: the next attempt takes its own instance id over, and the other slot does not notice."""
    before, epoch = fleet.running(), fleet.epoch()
    os.kill(before[0]["pid"], signal.SIGKILL)
    after = assert_only_moved(0, fleet, before, epoch)
    assert after[0]["restarts"] == before[0]["restarts"] + 1


@pytest.mark.parametrize("is_in_the_handler", [False, True])
def test_a_worker_that_is_told_to_end_leaves_and_comes_back(fleet: Fleet, is_in_the_handler: bool) -> None:
    """SIGTERM of a Python worker is a move, not a failure: a temporary leave, and another attempt.

    The same if the handler ends early by raising, as it may: that used to count as a failure of the slot.
    """
    before, epoch = fleet.running(), fleet.epoch()
    with contextlib.ExitStack() as busy:
        if is_in_the_handler:
            (fleet.directory / "hurry").touch()
            busy.callback((fleet.directory / "hurry").unlink)
            fleet.hold(1)
            busy.callback(fleet.release, 1)
        os.kill(before[1]["pid"], signal.SIGTERM)
        left = eventually(lambda: fleet.farewell(1, before[1]["incarnation"]), "the farewell", PATIENCE_S)
    assert left == ("TEMPORARY", "SIGTERM")
    assert_only_moved(1, fleet, before, epoch)


def test_progress_tells_how_fast_a_slot_goes_and_how_far_it_is_behind(fleet: Fleet) -> None:
    """A slot whose handler took its time has records before it, and then works them off."""
    fleet.running()
    told = len(fleet.driver.all("progress"))
    fleet.hold(0)
    fleet.wait_produced(200)
    fleet.release(0)

    def since(fact: str) -> float:
        return max((one["slots"][0][fact] for one in fleet.driver.all("progress")[told:]), default=0.0)

    eventually(lambda: since("lag") > 0, "a lag", PATIENCE_S)
    eventually(lambda: since("rate") > 0, "a rate", PATIENCE_S)
    eventually(lambda: fleet.progress()[0]["lag"] < since("lag"), "less of a lag", PATIENCE_S)


def test_cancelled_jobs_are_submitted_again(fleet: Fleet) -> None:
    """All jobs of the application are cancelled from outside."""
    cancel_all_jobs(fleet)


def test_slots_go_and_come_while_the_job_runs(fleet: Fleet) -> None:
    """To one slot and back to two."""
    scale_down_and_up(fleet)


@pytest.mark.parametrize("is_hung", [True, False])
def test_a_slot_that_cannot_leave_is_removed(fleet: Fleet, is_hung: bool) -> None:
    """Its handler does not return, or its process was killed a moment ago: its partitions go to the others all the same.

    They used to idle until the session ended, which takes five minutes here; and a job that hung was not even cancelled,
    because Spark's own interruptTag() knows the tags of the calling thread only.
    """
    remove_who_cannot_leave(fleet, is_hung=is_hung)


def test_a_newer_driver_takes_the_slots_over_and_the_older_one_ends(fleet: Fleet) -> None:
    """Without a rebalance, without a lost record; the older driver says who has its slots and does not fight back.

    One of its workers sleeps meanwhile, in the handler: when it wakes up its commit is refused, and it hands out nothing
    more. It used to be put to sleep anywhere, and rarely between a look at its membership and the handler, where nothing
    can help.
    """
    before, epoch, older = fleet.running(), fleet.epoch(), fleet.driver
    refused = len(fleet.refused_commits(0))
    fleet.hold(0)
    os.kill(before[0]["pid"], signal.SIGSTOP)
    fleet.release(0)
    fleet.start()
    after = fleet.wait_steady()
    assert [after[slot]["partitions"] for slot in after] == [before[slot]["partitions"] for slot in before]
    zombie = f"slot-0@{before[0]['incarnation']}"
    handed_out, committed = fleet.deliveries(zombie), fleet.view().committed
    os.kill(before[0]["pid"], signal.SIGCONT)
    assert older.wait_for("failed")["kind_of_error"] == "SupersededError"
    eventually(lambda: not is_running(before[0]["pid"]), "the zombie's end", PATIENCE_S)
    assert fleet.deliveries(zombie) == handed_out
    assert len(fleet.refused_commits(0)) == refused + 1
    assert all(now.offset >= committed[place].offset for place, now in fleet.view().committed.items())
    assert fleet.epoch() == epoch
    assert [one["restarts"] for one in fleet.progress().values()] == [0, 0]
    fleet.assert_nothing_lost()


def test_stopping_the_job_leaves_temporarily(fleet: Fleet) -> None:
    """What was handed to handlers is committed, the group stays as it is, and the next driver goes on from there."""
    before, epoch = fleet.running(), fleet.epoch()
    fleet.driver.end_input()
    fleet.driver.wait_for("stopped")
    delivered = fleet.deliveries()
    for slot, one in before.items():
        assert fleet.farewell(slot, one["incarnation"]) == ("TEMPORARY", "stopped by the driver")
    fleet.running()
    fleet.assert_nothing_lost()
    assert fleet.epoch() == epoch
    assert {place: count for place, count in fleet.deliveries().items() if place in delivered} == delivered


def test_a_handler_that_raises_ends_the_job_with_its_error_and_loses_nothing(fleet: Fleet) -> None:
    """After as many tries as Spark allows; what it raised on is not committed, and the next job gets it."""
    handler_raises(fleet)


def test_slots_that_cannot_reach_their_driver_work_with_fencing_alone(
    patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The driver advertises an address on which no process listens, as a driver at another site may.

    Nobody hands out leases or hears how the slots are; a killed one still comes back without a rebalance. One that is not
    needed any more is cancelled, and removed when its process has ended: it used to be removed before, and to join again.
    """
    settings = sessions.local({"spark.driver.host": "127.0.0.9", "spark.driver.bindAddress": "127.0.0.1"})
    with Fleet(patient_kafka, tmp_path_factory.mktemp("deaf"), settings) as fleet:
        fleet.start()
        before = eventually(lambda: owners(fleet), "every partition owned", PATIENCE_S)
        epoch = fleet.epoch()
        os.kill(int(fleet.trace(0)[-1].header["pid"]), signal.SIGKILL)
        eventually(lambda: (now := owners(fleet)) and now.keys() ^ before.keys(), "the slot again", PATIENCE_S)
        fleet.assert_nothing_lost()
        after = owners(fleet)
        assert fleet.epoch() == epoch
        assert not fleet.driver.all("failed")
        assert {one["incarnation"] for one in fleet.progress().values()} == {"None"}
        surplus = int(fleet.trace(1)[-1].header["pid"])
        fleet.driver.tell("scale 1 nobody hears it")
        fleet.driver.wait_for("scaled")
        assert not is_running(surplus)
        eventually(lambda: owners(fleet, slots=1), "one slot has every partition", PATIENCE_S)
        fleet.assert_nothing_lost()
    assert sorted(after.values()) == sorted(before.values())
    assert len(after.keys() & before.keys()) == 1


def test_slots_reach_a_driver_on_ipv6(patient_kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Spark writes such an address in brackets, which the slots took for a name: there were no slots at all."""
    settings = sessions.local({"spark.driver.host": "[::1]", "spark.driver.bindAddress": "[::1]"})
    with Fleet(patient_kafka, tmp_path_factory.mktemp("ipv6"), settings) as fleet:
        assert all(one["incarnation"] != "None" for one in fleet.running().values())


def owners(fleet: Fleet, slots: int = 2) -> dict[str, list[TopicPartition]]:
    """The partitions of each member, by client id, as the coordinator sees them; empty while not all are owned."""
    try:
        found = {one.client_id: sorted(one.current) for one in fleet.view().members}
    except GroupNotFoundError:
        return {}
    whole = len(found) == slots and sum(map(len, found.values())) == PARTITIONS
    return found if whole and all(found.values()) else {}


def test_speculation_is_refused(fleet: Fleet) -> None:
    """Spark would start a second copy of a slot, with the same instance id, and the copies would fight."""
    driver = fleet.start(sessions.local({"spark.speculation": "true"}))
    assert "spark.speculation=false" in driver.wait_for("refused")["error"]
