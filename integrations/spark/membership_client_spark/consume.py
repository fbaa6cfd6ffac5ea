"""consume(): a long-running job whose slots are static members of a group."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from pyspark.sql import SparkSession

from membership_client import Consumer, MemberClosedError, MembershipError
from membership_client.arguments import checked_choice, checked_function, reason_text
from membership_client_spark.arguments import (
    check_consumer,
    check_settings,
    checked_count,
    checked_seconds,
    checked_session,
    checked_slots,
    checked_topics_or_patterns,
    checked_wait,
    cpus_per_slot,
    notes,
)
from membership_client_spark.incarnation import slot_instance_id
from membership_client_spark.leases.arbiter import Arbiter
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import DriverAddress
from membership_client_spark.slot import Handler, SlotTask
from membership_client_spark.slot_member import checked_config, new_driver_epoch, remove_holders
from membership_client_spark.slot_progress import ProgressRegistry, SlotProgress, table
from membership_client_spark.slot_runner import SlotRunner
from membership_client_spark.spark_session import driver_host, is_decommissioning, setting
from membership_client_spark.telemetry import labels_of, of_process

_log = logging.getLogger("membership_client_spark")

_LOOK_S = 1.0
_TELL_S = 30.0
_CANCEL_S = 10.0
"""How long Spark may take to end cancelled tasks."""
_KILLED_S = 5.0
"""How long Spark then takes to kill their workers: a check every two seconds, and spark.python.task.killTimeout, two."""
_BACK_S = 6.0
"""A removed member whose process lives has joined again by then: a default heartbeat interval and a second."""
_INSIST_S = 60.0


def consume(
    spark: SparkSession,
    *,
    slots: int,
    name: str,
    config: Mapping[str, Any],
    topics: Sequence[str],
    handle: Handler,
    records: Literal["arrow", "messages"] = "arrow",
    max_records: int = 10_000,
    grace_s: float = 15.0,
) -> SlotJob:
    """Starts `slots` tasks, each a static member `<name>-<slot>` of the group, and returns at once.

    On executors, `handle(batch, slot)` gets a `pyarrow.RecordBatch` with the columns of Spark's Kafka source, or with
    `records="messages"` a list of confluent-kafka's messages, at most `max_records` of them. When it has returned, their
    offsets are committed. If it raises, or if the member ends by a fatal error (no access, for example), the slot is tried
    again as often as spark.task.maxFailures says; then the job ends with that error. So it does when a newer driver has its
    slots, and when a slot fails in the same way three times in a row without progress. After all other failures and losses
    the slot is started again, for as long as the job runs, without a rebalance.

    `name` belongs to the job and stays the same over restarts. `config` is what `membership_client.Consumer` takes.
    `grace_s` is how long a new attempt of a slot waits for an older one that does not answer.
    Raises SparkSettingsError or ConfigError for settings and arguments that cannot work, before anything is started.
    """
    checked_session(spark)
    get = setting(spark)
    config = checked_config(config)
    check_settings(get, checked_slots(name, slots))
    checked_function("handle", handle, of="a batch and its slot")
    plan = _SlotPlan(
        name,
        config,
        checked_topics_or_patterns(topics),
        handle,
        checked_choice("records", records, ("arrow", "messages")) == "messages",
        checked_count("max_records", max_records),
        checked_seconds("grace_s", grace_s),
    )
    check_consumer(Consumer, config)
    for note in notes(get):
        _log.info("%s", note)
    return SlotJob(spark, slots, plan)


@dataclass(frozen=True, slots=True)
class _SlotPlan:
    """What all slots share."""

    name: str
    config: Mapping[str, Any] = field(repr=False)
    """It may hold secrets."""
    topics: tuple[str, ...]
    handle: Handler
    as_messages: bool
    max_records: int
    grace_s: float


class SlotJob:
    """A running job. Its methods may be called from any thread; leaving a `with` block stops it."""

    def __init__(self, spark: SparkSession, slots: int, plan: _SlotPlan) -> None:
        self._spark = spark
        self._registry = ProgressRegistry()
        self._epoch = new_driver_epoch(plan.config)
        self._host = driver_host(spark)
        self._arbiter = Arbiter(self._host.bind, grace_s=plan.grace_s, hears=self._registry.hear)
        self._plan = plan
        self._lock = threading.Lock()
        self._runners: dict[int, SlotRunner] = {}
        self._stopping = False
        self._error: MembershipError | None = None
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._keep_watch, name="slot-watch", daemon=True)
        of_process().slot_jobs.add(self, labels_of(plan.config["group.id"], plan.name), self._registry.totals)
        for slot in range(slots):
            self._start(slot)
        self._watch.start()

    def progress(self) -> tuple[SlotProgress, ...]:
        """Each slot with executor, host, state, partitions, rate, lag and restarts, as of its last report."""
        return self._registry.progress()

    def __str__(self) -> str:
        return table(self.progress())

    def __repr__(self) -> str:
        state = "failed" if self._error else "ended" if self._ended.is_set() else "running"
        slots = self.progress()
        return f"<SlotJob {self._plan.name!r}: {state}, {len(slots)} slots, lag {sum(one.lag for one in slots):,}>"

    def scale(self, slots: int, *, reason: str | None = None) -> None:
        """Changes the number of slots while the job runs.

        New ones are started. Removed ones, those with the highest numbers, leave for good with the reason, and their
        partitions go to the others; returns when they have left. A slot that cannot leave, because its executor was lost
        or its handler hangs, is removed. Raises MemberClosedError if the job has ended, or is about to.
        """
        check_settings(setting(self._spark), checked_slots(self._plan.name, slots))
        reason = reason_text(reason) or f"scaled to {slots} slots"
        with self._lock:
            if self._stopping or self._ended.is_set():
                raise MemberClosedError(
                    f"The job {self._plan.name} has ended: its slots cannot be scaled any more. Start a new job with consume()."
                )
            surplus = {slot: self._runners.pop(slot) for slot in sorted(self._runners) if slot >= slots}
            for slot in range(slots):
                if slot not in self._runners:
                    self._arbiter.reopen(slot)
                    self._start(slot)
        unheard = self._end(surplus, Ending.REMOVED, reason, self._plan.grace_s)
        for slot in surplus:
            self._registry.forget(slot)
        if surplus:
            self._await_workers(surplus, unheard)
            self._remove(surplus, reason, is_sure=not unheard)

    def stop(self, reason: str = "stopped by the driver", *, timeout_s: float = 30.0) -> None:
        """Ends all slots: running handlers finish, their records are committed, and each slot leaves temporarily.

        A slot that does not end within `timeout_s` is cancelled. May be called twice.
        """
        within_s, given = checked_wait(timeout_s), reason_text(reason) or ""
        with self._lock:
            self._stopping = True
            runners, self._runners = self._runners, {}
        self._end(runners, Ending.STOPPED, given, threading.TIMEOUT_MAX if within_s is None else within_s)
        self._set_ended()
        self._arbiter.close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits for the end of the job; returns whether it has ended. Raises the error that ended it."""
        ended = self._ended.wait(checked_wait(timeout_s))
        if self._error is not None:
            self.stop("the job failed")
            raise self._error
        return ended

    def _start(self, slot: int) -> None:
        self._registry.expect(slot)
        cpus = cpus_per_slot(setting(self._spark))
        self._runners[slot] = SlotRunner(
            self._spark,
            self._task(slot),
            cpus,
            handled=lambda: self._registry.records(slot),
            failed=self._on_failed,
            gave_up=self._on_gave_up,
        )

    def _task(self, slot: int) -> SlotTask:
        plan = self._plan
        return SlotTask(
            name=plan.name,
            slot=slot,
            config=dict(plan.config),
            topics=plan.topics,
            handle=plan.handle,
            as_messages=plan.as_messages,
            max_records=plan.max_records,
            driver_epoch=self._epoch,
            driver=DriverAddress(self._host.advertised, self._arbiter.port, self._arbiter.secret),
            grace_s=plan.grace_s,
        )

    def _end(self, runners: Mapping[int, SlotRunner], ending: Ending, reason: str, timeout_s: float) -> Collection[int]:
        """Ends these slots. Returns those that were cancelled and have no connection to the driver.

        Nothing reports when the workers of those have ended.
        """
        for slot, runner in runners.items():
            runner.end()
            self._arbiter.end(slot, ending, reason)
        deadline = time.monotonic() + timeout_s
        late = {slot: one for slot, one in runners.items() if not one.join(max(0.0, deadline - time.monotonic()))}
        unheard = [slot for slot in late if not self._arbiter.has_line(slot)]
        for runner in late.values():
            runner.cancel()
        for runner in late.values():
            runner.join(_CANCEL_S)
        return unheard

    def _await_workers(self, slots: Collection[int], unheard: Collection[int]) -> None:
        """Waits for workers of cancelled tasks: they outlive their job a little, and would join again if removed too early."""
        deadline = time.monotonic() + _CANCEL_S
        while any(map(self._arbiter.has_line, slots)) and time.monotonic() < deadline:
            time.sleep(0.05)
        if unheard:
            time.sleep(_KILLED_S)

    def _remove(self, slots: Collection[int], reason: str, *, is_sure: bool) -> None:
        """Removes slots that could not leave. If their workers may still run (not `is_sure`), until none joins again."""
        instance_ids = {slot_instance_id(self._plan.name, slot) for slot in slots}
        deadline = time.monotonic() + _INSIST_S
        while remove_holders(self._plan.config, instance_ids, self._epoch, reason) and not is_sure:
            if time.monotonic() > deadline:
                _log.warning(
                    "members %s of group %s were removed for %g s and joined again: end their processes by hand",
                    ", ".join(sorted(instance_ids)),
                    self._plan.config["group.id"],
                    _INSIST_S,
                )
                return
            time.sleep(_BACK_S)

    def _on_failed(self, slot: int, failure: str) -> None:
        """The job has ended, but its Python worker may live for two more seconds, in which it can leave."""
        _log.warning("slot %s is submitted again: %s", slot, failure)
        self._registry.failed(slot, failure)
        self._arbiter.end(slot, Ending.MOVED, f"its job ended: {failure}")

    def _on_gave_up(self, error: MembershipError) -> None:
        _log.error("%s ends: %s", self._plan.name, "\n".join([str(error), *getattr(error, "__notes__", ())]))
        self._error = error
        self._set_ended()

    def _set_ended(self) -> None:
        of_process().slot_jobs.discard(self)
        self._ended.set()

    def _keep_watch(self) -> None:
        """Moves slots away from executors that are being decommissioned, and logs the progress."""
        moved: set[tuple[int, Any]] = set()
        told_at = time.monotonic()
        while not self._ended.wait(_LOOK_S):
            for one in self.progress():
                key = (one.slot, one.incarnation)
                if one.executor and key not in moved and is_decommissioning(self._spark, one.executor):
                    moved.add(key)
                    self._arbiter.end(one.slot, Ending.MOVED, f"executor {one.executor} is being decommissioned")
            if time.monotonic() - told_at >= _TELL_S:
                told_at = time.monotonic()
                _log.info("slots of %s:\n%s", self._plan.name, self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(f"{kind.__name__} on the driver" if kind else "stopped by the driver")
