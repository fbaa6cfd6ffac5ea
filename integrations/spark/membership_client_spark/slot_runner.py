"""Keeps one slot running on the cluster: submits its Spark job, and submits it again when it ends unexpectedly."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.resource import ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

from membership_client import MembershipError
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.slot import SlotTask, run_slot
from membership_client_spark.slot_failure import FailureLimit, failure_in
from membership_client_spark.spark_session import cancel_jobs, described_jobs, tag_jobs

_log = logging.getLogger("membership_client_spark")

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 30.0
_LASTED_S = 60.0
"""After a job that ran this long the next one is submitted without a long wait."""

_PROGRESS_S = 600.0
"""A job that ran this long did not fail for the reason of the one before, even if its topics had no records."""

Failed = Callable[[int, str], None]
GaveUp = Callable[[MembershipError], None]


class SlotRunner:
    """Runs one slot on a thread of its own, one Spark job at a time, so that the loss of one slot does not touch others.

    `handled` returns how many records the slot has handled, as far as the driver knows. `failed` is called on that thread
    with the slot and a sentence before a job is submitted again; `gave_up` with the error when it is not.
    """

    def __init__(
        self,
        spark: SparkSession,
        task: SlotTask,
        cpus: int | None,
        *,
        handled: Callable[[], int],
        failed: Failed,
        gave_up: GaveUp,
    ) -> None:
        self._spark = spark
        self._task = task
        self._profile = _profile(cpus)
        self._handled = handled
        self._limit = FailureLimit(task.slot)
        self._failed = failed
        self._gave_up = gave_up
        self._is_ending = threading.Event()
        self._tag = f"slot-{task.name}-{task.slot}-{task.driver_epoch}"
        self._thread = threading.Thread(target=self._run, name=self._tag, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """From now on the job is not submitted again."""
        self._is_ending.set()

    def join(self, timeout_s: float | None = None) -> bool:
        """Whether it has ended within this time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Has Spark cancel the task, which kills its worker two seconds later: for a slot that does not answer."""
        cancel_jobs(self._spark, self._tag)

    def _run(self) -> None:
        tag_jobs(self._spark, self._tag)
        with described_jobs(self._spark, f"{self._task.name}: slot {self._task.slot}"):
            self._run_jobs()

    def _run_jobs(self) -> None:
        wait_s = _FIRST_WAIT_S
        while not self._is_ending.is_set():
            began, handled = time.monotonic(), self._handled()
            try:
                if self._submit() is not Ending.MOVED:
                    return
                wait_s = _FIRST_WAIT_S
            except Exception as error:  # noqa: BLE001 - whatever Spark raises, the slot must come back
                lasted_s = time.monotonic() - began
                progressed = self._handled() > handled or lasted_s > _PROGRESS_S
                if self._is_ending.is_set() or self._is_final(error, progressed=progressed):
                    return
                wait_s = _FIRST_WAIT_S if lasted_s > _LASTED_S else wait_s
                self._is_ending.wait(wait_s)
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    def _submit(self) -> Ending:
        """One job with one task; returns when the slot has ended."""
        task = self._task

        def run(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"ending": [run_slot(task).value]})

        one = self._spark.range(0, 1, 1, 1)
        rows = one.mapInArrow(run, "ending string", profile=self._profile).collect()
        return Ending(rows[0]["ending"])

    def _is_final(self, error: Exception, *, progressed: bool) -> bool:
        """Calls `failed` or `gave_up`; whether it was the latter."""
        failure = failure_in(error)
        final = self._limit.error_after(failure, progressed=progressed) if failure else None
        if final is None:
            self._failed(self._task.slot, _first_line(failure or error))
        else:
            self._gave_up(final)
        return final is not None


def _profile(cpus: int | None) -> ResourceProfile | None:
    if cpus is None:
        return None
    builder: Any = ResourceProfileBuilder().require(TaskResourceRequests().cpus(cpus))
    return builder.build  # type: ignore[no-any-return]


def _first_line(error: object) -> str:
    """The first line that is not blank, at most 300 letters of it."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
