"""`epochs()`: topics as a sequence of DataFrames, read by static members that stay in the group."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from membership_client import WaitTimeoutError
from membership_client.arguments import checked_choice, checked_flag, checked_function, checked_instance, reason_text
from membership_client_spark.arguments import (
    checked_columns,
    checked_count,
    checked_seconds,
    checked_session,
    checked_slots,
    checked_topics,
    checked_wait,
)
from membership_client_spark.arrow import COLUMNS
from membership_client_spark.pipeline.engine import Engine, ForeachEpoch, PipelineArguments
from membership_client_spark.pipeline.interface import EpochsProgress
from membership_client_spark.pipeline.listener import EpochsListener, Events
from membership_client_spark.pipeline.planning import Bounds
from membership_client_spark.pipeline.reader import READERS, ReaderChoice, ReadSettings, reader_of
from membership_client_spark.pipeline.settings import settings_of
from membership_client_spark.slot_member import Config
from membership_client_spark.telemetry import EpochMetrics, of_process


def epochs(
    spark: SparkSession,
    foreach_epoch: ForeachEpoch,
    *,
    config: Config,
    topics: Sequence[str],
    name: str,
    slots: int,
    max_records: int | None = None,
    max_bytes: int | None = None,
    max_seconds: float | None = None,
    every_s: float = 0.0,
    available_now: bool = False,
    reader: ReaderChoice = "auto",
    columns: Sequence[str] = COLUMNS,
    read_tasks: int | None = None,
    listener: EpochsListener | None = None,
) -> Epochs:
    """Calls `foreach_epoch(df, epoch_id, offset_ranges)` for one epoch after the other, on a thread of its own.

    An epoch is a fixed range of offsets of each partition: its DataFrame has the same rows however often it is evaluated.
    Its offsets are committed when `foreach_epoch` has returned, and only then; if it raises, the pipeline ends and the
    next one starts with the same records. Epoch ids grow by one, over restarts as well.

    `config` is what `membership_client.Consumer` takes. `name` and the number of a slot are its instance id, so the name
    must stay the same over restarts; a driver that starts takes the slots over from an earlier one that still runs.
    `max_records` bounds an epoch exactly, `max_bytes` by the size of sampled records, `max_seconds` by the pace of the
    epochs before. `every_s` is the least time between the starts of two epochs. With `available_now` the pipeline ends
    when it has read all records that were there when it started.

    `reader` is `"spark"` for Spark's own Kafka source (spark-sql-kafka-0-10), `"python"` for tasks in Python, or `"auto"` for
    the first of them that can be used; the log says which. The DataFrames have these `columns`, in this order; the fewer they
    are, the faster is the Python reader. `read_tasks` is the number of tasks that read an epoch; None takes as many as Spark
    runs at once, if each of them has enough to read.

    `listener` is told on the pipeline's thread when the pipeline starts, when an epoch is committed, and when the pipeline ends.

    Returns at once. ConfigError for arguments that cannot work.
    """
    checked_session(spark)
    checked_function("foreach_epoch", foreach_epoch, of="an epoch's DataFrame, id and ranges")
    choice = checked_choice("reader", reader, READERS)
    reading = ReadSettings(
        columns=checked_columns(columns),
        tasks=None if read_tasks is None else checked_count("read_tasks", read_tasks),
    )
    checked_slots(name, slots)
    if listener is not None:
        checked_instance("listener", listener, EpochsListener)
    settings = settings_of(config)
    events = Events(name, settings.members["group.id"])
    arguments = PipelineArguments(
        spark=spark,
        foreach_epoch=foreach_epoch,
        settings=settings,
        topics=checked_topics(topics),
        name=name,
        bounds=Bounds(max_records=max_records, max_bytes=max_bytes, max_seconds=max_seconds),
        every_s=checked_seconds("every_s", every_s),
        available_now=checked_flag("available_now", available_now),
        events=events,
        # The last one, because it asks Spark.
        reader=reader_of(choice, spark, settings.readers, reading, name),
    )
    engine = Engine(arguments, slots)
    events.add(EpochMetrics(engine.progress, of_process()))
    if listener is not None:
        events.add(listener)
    return Epochs(engine, name, events)


class Epochs:
    """A running pipeline. Every method may be called from any thread; leaving a `with` block stops it."""

    def __init__(self, engine: Engine, name: str, events: Events) -> None:
        self._engine = engine
        self._name = name
        self._events = events
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{name}-epochs", daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> EpochsProgress:
        """Waits until the pipeline has ended. Raises the error that ended it; WaitTimeoutError if it still runs.

        WaitTimeoutError at once in `foreach_epoch` and in a listener, because the pipeline ends only when these return.
        """
        if self._is_own_thread() and not self._ended.is_set():
            raise WaitTimeoutError(
                f"{self._name} cannot end while its foreach_epoch or its listener waits for that. Call stop() there, and wait() "
                "on another thread."
            )
        if not self._ended.wait(checked_wait(timeout_s)):
            raise WaitTimeoutError(f"{self._name} has not ended within {timeout_s} s.")
        if self._error is not None:
            raise self._error
        return self.progress()

    def stop(self, reason: str | None = None, *, timeout_s: float | None = None) -> bool:
        """Finishes the running epoch and leaves temporarily; then True. False if that takes longer than `timeout_s`.

        False at once in `foreach_epoch` and in a listener: the pipeline ends when they have returned. An error that ended the
        pipeline before is raised by `wait`, not here.
        """
        within_s = checked_wait(timeout_s)
        self._engine.stop(reason_text(reason))
        return self._ended.wait(0.0 if self._is_own_thread() else within_s)

    def scale(self, slots: int, *, reason: str | None = None) -> None:
        """Changes the number of slots, from the next epoch on. Removed slots leave for good, with the reason."""
        self._engine.scale(checked_slots(self._name, slots), reason_text(reason))

    def progress(self) -> EpochsProgress:
        """The progress at this moment; also after the end."""
        return self._engine.progress()

    def __str__(self) -> str:
        return f"{self._name} ({self._state()}): {self.progress()}"

    def __repr__(self) -> str:
        now = self.progress()
        return f"<Epochs {self._name!r}: {self._state()}, {now.epochs:,} epochs, lag {now.lag:,}>"

    def _state(self) -> str:
        if not self._ended.is_set():
            return "running"
        return "ended" if self._error is None else f"ended by {type(self._error).__name__}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(f"closed after an exception: {kind.__name__}" if kind else None)

    def _is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        try:
            self._events.started()
            self._engine.run()
        except BaseException as error:  # noqa: BLE001 - wait() raises it
            self._error = error
        try:
            self._events.ended(self.progress(), self._error)
        finally:
            self._ended.set()
