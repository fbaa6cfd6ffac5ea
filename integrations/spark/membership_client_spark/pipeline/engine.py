"""The pipeline's thread: it plans an epoch, calls `foreach_epoch`, commits, and starts again."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from membership_client import ConnectionProblem, NotOwnedError, OffsetTimeoutError, TopicPartition
from membership_client_spark.errors import EpochTakenError
from membership_client_spark.pipeline.executor_check import ExecutorCheck
from membership_client_spark.pipeline.held import Held
from membership_client_spark.pipeline.interface import (
    EpochReport,
    EpochsProgress,
    PipelineRun,
    Resumable,
    SlotView,
    Tally,
)
from membership_client_spark.pipeline.listener import Events
from membership_client_spark.pipeline.planning import (
    NOTHING,
    Bounds,
    EpochPlan,
    Experience,
    SizeSampler,
    next_ranges,
    plan_of,
    record_limit,
)
from membership_client_spark.pipeline.positions import Positions, Watermarks, is_reached
from membership_client_spark.pipeline.ranges import OffsetRange, offsets_in
from membership_client_spark.pipeline.reader import Reader
from membership_client_spark.pipeline.settings import PipelineSettings
from membership_client_spark.pipeline.slots import Slots
from membership_client_spark.slot_failure import setup_note
from membership_client_spark.spark_session import described_jobs

ForeachEpoch = Callable[[DataFrame, int, tuple[OffsetRange, ...]], object]

_IDLE_S = 0.2
"""Between two checks for new records when there are none."""

_SETTLE_S = 30.0
_SETTLE_LOOK_S = 0.05

_TAKEN_IN_A_ROW = 3
"""How often in a row another driver may publish first: one that is ending may do it, more often is an error."""

logger = logging.getLogger("membership_client_spark")


@dataclass(frozen=True, slots=True)
class Scale:
    """How many slots there should be, and why."""

    slots: int
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineArguments:
    """The arguments of `epochs`, checked."""

    spark: SparkSession
    foreach_epoch: ForeachEpoch
    reader: Reader
    settings: PipelineSettings
    topics: tuple[str, ...]
    name: str
    bounds: Bounds
    every_s: float
    available_now: bool
    events: Events


class Engine:
    """Runs a pipeline. `run` is its thread; `stop`, `scale` and `progress` may be called on any."""

    def __init__(self, arguments: PipelineArguments, slots: int) -> None:
        self._arguments = arguments
        self._sink: object = arguments.foreach_epoch
        self._held = Held()
        self._slots = Slots(arguments.settings.members, arguments.topics, arguments.name, self._held)
        self._watermarks = Watermarks(arguments.settings.clients, only_committed=arguments.settings.only_committed)
        self._positions = Positions(self._slots, self._watermarks, arguments.settings.reset)
        self._sampler = SizeSampler(arguments.settings.readers) if arguments.bounds.max_bytes is not None else None
        self._known = Experience()
        self._goal: Mapping[TopicPartition, int] | None = None
        self._wanted = Scale(slots, None)
        self._stop: str | None = None
        self._stopping = threading.Event()
        self._due_at = 0.0
        self._taken = 0
        self._tally = Tally()

    # --- any thread --------------------------------------------------------------------------------------------------

    def stop(self, reason: str | None) -> None:
        """Ends the pipeline after the running epoch."""
        self._stop = reason
        self._stopping.set()
        self._held.wake()

    def scale(self, slots: int, reason: str | None) -> None:
        """Changes the number of slots, between two epochs."""
        self._wanted = Scale(slots, reason)
        self._held.wake()

    def progress(self) -> EpochsProgress:
        return self._tally.progress(
            tuple(
                SlotView(
                    slot=slot,
                    instance_id=now.instance_id or "",
                    state=now.state,
                    partitions=now.owned,
                    lag=sum(map(self._positions.lag, now.owned)),
                )
                for slot, now in enumerate(self._slots.snapshots())
            )
        )

    # --- the pipeline's thread ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Returns when the pipeline is stopped or done, and raises the error that ended it. All members have left then."""
        try:
            if self._arguments.available_now and self._has_nothing_to_read():
                return
            check = self._executor_check()
            self._slots.open()
            self._follow_scale()
            self._await_settled()
            if check:
                self._await_executors(check)
            self._resume()
            while not self._stopping.is_set():
                self._step()
        except BaseException as error:
            self._stop = f"ended by {type(error).__name__}"
            raise
        finally:
            self._slots.close(self._stop)
            if self._sampler:
                self._sampler.close()

    def _executor_check(self) -> ExecutorCheck | None:
        """Begun early: Spark starts a Python worker while the members join."""
        arguments = self._arguments
        return ExecutorCheck(arguments.spark, arguments.name) if arguments.reader.uses_python else None

    def _has_nothing_to_read(self) -> bool:
        """Sets the goal. True if the group has reached it before it starts: then no member needs to join.

        A sink that is Resumable is looked at and cleaned up at every start, which only the newest driver may do.
        """
        places = self._watermarks.partitions(self._arguments.topics)
        self._goal = self._watermarks.all_ends(places)
        if isinstance(self._sink, Resumable):
            return False
        begins, committed = self._watermarks.begins(places), self._slots.last_committed(places)
        return is_reached(self._goal, begins, committed, self._arguments.settings.reset)

    def _step(self) -> None:
        self._slots.check()
        self._follow_scale()
        began_at = time.monotonic()
        plan = self._plan_if_due()
        if plan.ranges:
            self._run_epoch(plan, began_at)
        elif self._is_done():
            self._stopping.set()
        else:
            self._held.wait_for_change(_IDLE_S)

    def _plan_if_due(self) -> EpochPlan:
        """An empty plan if it is too early, or if the coordinator does not answer at the moment."""
        if time.monotonic() < self._due_at:
            return NOTHING
        try:
            return self._plan()
        except (NotOwnedError, OffsetTimeoutError) as error:
            logger.warning("[%s] cannot plan an epoch now: %s", self._arguments.name, error)
            return NOTHING

    def _follow_scale(self) -> None:
        wanted = self._wanted
        self._slots.scale(wanted.slots, wanted.reason)

    def _await_settled(self) -> None:
        """Waits until all members own their target: those that join one after the other take partitions from each other."""
        give_up_at = time.monotonic() + _SETTLE_S
        while not (self._slots.are_settled() or self._stopping.is_set()) and time.monotonic() < give_up_at:
            self._slots.check()
            self._held.wait_for_change(_SETTLE_LOOK_S)

    def _await_executors(self, check: ExecutorCheck) -> None:
        """SparkSettingsError if executors cannot read. Waits as long as Spark has no executor."""
        while check.is_running() and not self._stopping.is_set():
            self._slots.check()
            self._held.wait_for_change(_SETTLE_LOOK_S)
        check.raise_if_unfit()

    def _resume(self) -> None:
        if isinstance(self._sink, Resumable):
            run = PipelineRun(self._arguments.spark, self._arguments.settings.members["group.id"], self._check_newest)
            self._positions.resume(self._sink.resume(run))

    def _check_newest(self) -> None:
        """SupersededError if the group has a newer driver. If no broker answers, the sink's atomic publish decides."""
        with contextlib.suppress(ConnectionProblem):
            self._slots.check_newest()

    def _plan(self) -> EpochPlan:
        holdings = self._held.now()
        self._positions.look(holdings)
        positions, ends = self._positions.waiting()
        if self._goal is not None:
            ends = {place: min(end, self._goal.get(place, 0)) for place, end in ends.items()}
        turn = self._positions.last_epoch
        limit = self._limit(next_ranges(positions, ends, None, turn))
        return plan_of(next_ranges(positions, ends, limit, turn), holdings)

    def _limit(self, waiting: tuple[OffsetRange, ...]) -> int | None:
        if self._sampler is not None and waiting and (size := self._sampler.average(waiting)):
            self._known = self._known.sampled(size)
        return record_limit(self._arguments.bounds, self._known)

    def _is_done(self) -> bool:
        """Whether all records of the start were read, except those of partitions that other members own."""
        if self._goal is None or time.monotonic() < self._due_at:
            return False
        missing = self._goal.keys() - self._positions.reached(self._goal)
        return not missing or (self._slots.are_settled() and missing <= self._slots.others())

    def _run_epoch(self, plan: EpochPlan, began_at: float) -> None:
        self._due_at = began_at + self._arguments.every_s
        plan = plan.only(self._held.use(plan.holdings))
        report = None
        try:
            if plan.ranges and self._process(plan, began_at):
                report = self._commit(plan, began_at)
        finally:
            self._tally.end()
            self._held.release()
        if report is not None:
            self._arguments.events.epoch(report, self.progress())

    def _process(self, plan: EpochPlan, began_at: float) -> bool:
        """False if another driver has published the epoch."""
        epoch = self._positions.last_epoch + 1
        self._tally.begin(epoch, began_at)
        frame = self._arguments.reader.frame(plan.ranges, plan.slots())
        try:
            with described_jobs(self._arguments.spark, f"{self._arguments.name}: epoch {epoch}"):
                self._arguments.foreach_epoch(frame, epoch, plan.ranges)
        except EpochTakenError as error:
            self._give_way(error)
            return False
        except BaseException as error:
            self._check_newest()  # If a newer driver took the slots over, that is the cause.
            error.add_note(f"This was epoch {epoch} of {self._arguments.name}: {', '.join(map(str, plan.ranges))}.")
            if advice := setup_note(error):
                error.add_note(f"The cause: {advice}")
            raise
        self._taken = 0
        return True

    def _give_way(self, error: EpochTakenError) -> None:
        """Ends with SupersededError if the other driver is newer; else starts again after what the sink has."""
        self._slots.check()
        self._check_newest()
        self._taken += 1
        if self._taken > _TAKEN_IN_A_ROW:
            raise error
        logger.warning(
            "[%s] another driver published first; starting again after its epoch: %s", self._arguments.name, error
        )
        self._resume()

    def _commit(self, plan: EpochPlan, began_at: float) -> EpochReport:
        epoch, ends = self._positions.last_epoch + 1, plan.ends()
        if isinstance(self._sink, Resumable):
            self._positions.published(ends)
        self._positions.last_epoch = epoch
        taken = self._insist_on_commit(plan, epoch)
        self._positions.committed(ends, taken)
        for place in sorted(ends.keys() - taken):
            logger.warning(
                "[%s] epoch %s could not commit %s: another member owns it by now", self._arguments.name, epoch, place
            )
        records, seconds = offsets_in(plan.ranges), time.monotonic() - began_at
        self._known = self._known.ran(records, seconds, self._arguments.bounds)
        size = self._known.bytes_per_record
        estimate = None if size is None else round(size * records)
        report = EpochReport(epoch, plan.ranges, records, estimate, seconds)
        self._tally.count(report)
        logger.info("[%s] epoch %s: %s records in %.3f s", self._arguments.name, epoch, records, seconds)
        return report

    def _insist_on_commit(self, plan: EpochPlan, epoch: int) -> frozenset[TopicPartition]:
        """Commits; while no coordinator answers, tries again until the pipeline is stopped."""
        while True:
            try:
                return self._slots.commit(plan.ranges, plan.holdings, epoch)
            except OffsetTimeoutError as error:
                if self._stopping.is_set():
                    raise
                logger.warning("[%s] epoch %s cannot be committed now: %s", self._arguments.name, epoch, error)
                self._slots.check()
