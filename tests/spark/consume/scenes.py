"""What happens to a running job, the same wherever Spark runs, and what must come of it."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import Any

from tests.integration.members import eventually
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.clusters.executors import Executor
from tests.spark.clusters.processes import is_running, send
from tests.spark.consume.fleet import Fleet, is_undisturbed

Standing = dict[int, dict[str, Any]]
"""The progress of each slot, as a Fleet reports it."""


def executor_of(executors: Iterable[Executor], slot: dict[str, Any]) -> Executor:
    """The one whose Python worker runs the slot."""
    (found,) = [one for one in executors if slot["pid"] in one.python_workers]
    return found


def assert_only_moved(slot: int, fleet: Fleet, before: Standing, epoch: int) -> Standing:
    """The slot is back with its partitions, the other one did not change, there was no rebalance, no record is lost."""
    after = fleet.wait_restarted(slot, before)
    assert after[slot]["partitions"] == before[slot]["partitions"]
    assert after[slot]["restarts"] > before[slot]["restarts"]
    assert is_undisturbed(before[1 - slot], after[1 - slot])
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()
    return after


def cancel_all_jobs(fleet: Fleet) -> None:
    """Every slot leaves temporarily, says why, and is back with its partitions."""
    before, epoch = fleet.running(), fleet.epoch()
    fleet.driver.tell("cancel")
    fleet.wait_restarted(0, before)
    after = fleet.wait_restarted(1, before)
    assert [after[slot]["partitions"] for slot in after] == [before[slot]["partitions"] for slot in before]
    assert fleet.epoch() == epoch
    fleet.assert_nothing_lost()
    for slot, one in before.items():
        mode, reason = fleet.farewell(slot, one["incarnation"]) or ("", "")
        assert mode == "TEMPORARY"
        # The driver says both, one soon after the other.
        assert reason.startswith(("its job ended: ", "incarnation "))


def scale_down_and_up(fleet: Fleet) -> None:
    """A removed slot leaves for good at once, and its reason is in the broker's log; a new one joins."""
    before = fleet.running()
    fleet.driver.tell("scale 1 the night is quiet")
    fleet.wait_steady(1)
    assert fleet.farewell(1, before[1]["incarnation"]) == ("LEAVE", "the night is quiet")
    eventually(lambda: "the night is quiet" in fleet.kafka.log(), "the reason in the broker's log", PATIENCE_S)
    fleet.driver.tell("scale 2 the morning is not")
    after = fleet.wait_steady(2)
    assert is_undisturbed(before[0] | {"partitions": after[0]["partitions"]}, after[0])
    fleet.assert_nothing_lost()


def remove_who_cannot_leave(fleet: Fleet, *, is_hung: bool) -> None:
    """A slot that is not needed any more hangs in its handler, or was killed: its process ends, and it is removed."""
    before = fleet.running()
    if is_hung:
        fleet.hold(1)
    else:
        send(before[1]["pid"], signal.SIGKILL)
    reason = f"not needed, {'hung' if is_hung else 'killed'}"
    fleet.driver.tell(f"scale 1 {reason}")
    fleet.wait_steady(1)
    eventually(lambda: not is_running(before[1]["pid"]), "the end of the slot's process", PATIENCE_S)
    eventually(lambda: reason in fleet.kafka.log(), "the reason in the broker's log", PATIENCE_S)
    if is_hung:
        fleet.release(1)
    fleet.driver.tell("scale 2")
    fleet.wait_steady(2)
    fleet.assert_nothing_lost()


def handler_raises(fleet: Fleet) -> None:
    """The job ends with what the handler raised, and the next one gets what it raised on."""
    fleet.running()
    (fleet.directory / "fail").touch()
    failed = fleet.driver.wait_for("failed")
    assert failed["kind_of_error"] == "SlotFailedError"
    assert "ValueError: this record cannot be handled" in failed["error"]
    (fleet.directory / "fail").unlink()
    fleet.running()
    fleet.assert_nothing_lost()
