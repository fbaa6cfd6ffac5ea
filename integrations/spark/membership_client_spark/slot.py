"""One slot on an executor: waits for its lease, joins, gives records to the handler, commits, and leaves; and its process."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Place
from pyspark import TaskContext

from membership_client import (
    Consumer,
    FatalError,
    FencedInstanceIdError,
    LeaveMode,
    MemberState,
    Snapshot,
    TopicPartition,
)
from membership_client_spark.arrow import record_batch
from membership_client_spark.errors import SlotFailedError, SupersededError
from membership_client_spark.incarnation import Incarnation, slot_instance_id
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import DriverAddress, Line, Notice
from membership_client_spark.slot_failure import cause_note
from membership_client_spark.slot_member import Config, check_newest, slot_config
from membership_client_spark.slot_progress import ProgressReporter

_log = logging.getLogger("membership_client_spark")

_TURN_S = 0.5
"""Longest wait for records in one turn; a notice is looked for between turns."""

_SLACK_S = 5.0
"""How much longer than the driver's grace a slot waits for its lease before it relies on fencing alone."""

_LATE_S = 1.0
"""How much later than its interval a heartbeat may be answered before the membership counts as not confirmed."""

_LOOK_S = 0.02

_CLOSE_S = 1.5
"""A cancelled task has two seconds (spark.python.task.killTimeout) before Spark kills its worker."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot that a handler runs in."""

    number: int
    instance_id: str
    incarnation: Incarnation
    partitions: Callable[[], frozenset[TopicPartition]]
    """The partitions that the slot owns at this moment; a batch may have records of some of them only."""
    stopping: Callable[[], bool]
    """Whether this slot is to end: then a handler with long work may raise to end early.

    That is no failure: the batch is not committed, and is delivered again.
    """


Handler = Callable[[Any, Slot], None]
"""Gets a `pyarrow.RecordBatch`, or a list of messages, and the slot. When it returns, the records are committed."""


@dataclass(frozen=True, slots=True)
class SlotTask:
    """All that an executor needs; it is sent with the Spark task. Its repr has no secrets."""

    name: str
    slot: int
    config: Config
    topics: Sequence[str]
    handle: Handler
    as_messages: bool
    max_records: int
    driver_epoch: int
    driver: DriverAddress
    grace_s: float

    def __repr__(self) -> str:
        return f"SlotTask({slot_instance_id(self.name, self.slot)})"


def run_slot(task: SlotTask) -> Ending:
    """Runs the slot until it is to end, and returns how. In the main thread of a Python worker, inside a Spark task.

    Raises SupersededError when a newer incarnation has the slot, SlotFailedError when starting again cannot help, and
    all other errors as they are: then Spark or the driver tries again. It must not return in these cases, because Spark
    takes the first attempt that returns for the successful one and kills the newer one.
    """
    context = TaskContext.get()
    who = Incarnation(task.driver_epoch, context.taskAttemptId() if context else 0)
    with Signals(task.grace_s) as signals, contextlib.closing(Line(task.driver, task.slot, who, place())) as line:
        line.wait_for_turn(task.grace_s + _SLACK_S)
        notice = line.notice or signals.notice
        with _named_in_traces(task):
            return _ending(notice or _SlotMember(task, who, line, signals).run())


@contextlib.contextmanager
def _named_in_traces(task: SlotTask) -> Iterator[None]:
    """Sets the name that traces have for this slot, and removes it: the next task of this worker may be another slot's."""
    os.environ["MEMBERSHIP_CLIENT_SLOT"] = f"slot {task.slot} of {task.name}"
    try:
        yield
    finally:
        del os.environ["MEMBERSHIP_CLIENT_SLOT"]


def _ending(notice: Notice) -> Ending:
    if notice.ending is Ending.SUPERSEDED:
        raise SupersededError(f"A newer incarnation has this slot: {notice.reason}.")
    return notice.ending


class _SlotMember:
    """The member of the slot, for one incarnation."""

    def __init__(self, task: SlotTask, who: Incarnation, line: Line, signals: Signals) -> None:
        self._task = task
        self._config = slot_config(task.config, task.name, task.slot, who)
        self._who = who
        self._line = line
        self._signals = signals
        self._reporter = ProgressReporter()

    def run(self) -> Notice:
        instance_id = self._config["group.instance.id"]
        check_newest(self._config, instance_id, self._who)
        consumer = Consumer({**self._config, "enable.auto.commit": False})
        slot = Slot(
            self._task.slot,
            instance_id,
            self._who,
            partitions=lambda: consumer.snapshot.owned,
            stopping=lambda: self._notice() is not None,
        )
        notice: Notice | None = None
        try:
            consumer.subscribe(self._task.topics)
            while (notice := self._notice()) is None:
                self._turn(consumer, slot)
        except FencedInstanceIdError as error:
            raise SupersededError(f"Another process took this slot: {error.detail}", holder=error.holder) from error
        except FatalError as error:
            raise _failed(str(error), error) from error
        finally:
            self._close(consumer, notice)
        return notice

    def _notice(self) -> Notice | None:
        return self._line.notice or self._signals.notice

    def _turn(self, consumer: Consumer, slot: Slot) -> None:
        records = _records(consumer.consume(self._task.max_records, _TURN_S))
        if records:
            self._hand_over(consumer, slot, records)
        if self._reporter.is_due():
            self._line.say({"report": self._reporter.report(consumer)})

    def _hand_over(self, consumer: Consumer, slot: Slot, records: list[Message]) -> None:
        """Handles and commits the records of partitions that are owned at this moment.

        Others are not committed: the next owner of their partitions reads them.
        """
        # Before the member is looked at: a process that is stopped between the look and the handler hands out old records.
        batch = self._batch(records)
        wait_until_confirmed(lambda: consumer.snapshot, slot.stopping)
        last = {(record.topic(), record.partition()): record for record in records}
        owned = {key for key, record in last.items() if consumer.owner_epoch(record) is not None}
        if slot.stopping() or not owned:
            return
        if len(owned) < len(last):
            records = [record for record in records if (record.topic(), record.partition()) in owned]
            batch = self._batch(records)
        with consumer.hold(*(last[key] for key in owned)):
            if not self._handle(batch, slot):
                return
            consumer.commit(offsets=[_after(last[key]) for key in owned], asynchronous=False)
        self._reporter.count(len(records))

    def _batch(self, records: list[Message]) -> Any:
        """As the handler gets them."""
        return records if self._task.as_messages else record_batch(records)

    def _handle(self, batch: Any, slot: Slot) -> bool:
        """Whether the records were handled. A handler that raises while the slot is to end did not fail, it ended early."""
        try:
            self._task.handle(batch, slot)
        except Exception as error:
            if not slot.stopping():
                raise _failed(f"The handler raised {type(error).__name__}: {error}.", error) from error
            _log.info("%s: the handler ended early: %r", slot.instance_id, error)
            return False
        return True

    def _close(self, consumer: Consumer, notice: Notice | None) -> None:
        leave = LeaveMode.LEAVE if notice and notice.ending is Ending.REMOVED else LeaveMode.TEMPORARY
        report = consumer.close(leave, reason=notice.reason if notice else "the slot failed", timeout_s=_CLOSE_S)
        _log.info("%s closed: %s", self._config["group.instance.id"], report)


def wait_until_confirmed(look: Callable[[], Snapshot], give_up: Callable[[], bool]) -> None:
    """Returns when the coordinator has confirmed the member within its heartbeat interval: at once in a healthy member.

    Raises the error of a member that has ended; returns early if `give_up` says so, and if the member is out of the group:
    it owns nothing then, and joins again only when its Consumer is polled. `Consumer` asks for a confirmation only
    after a pause of the process. That is not enough here: an attempt that is cut off from the coordinator can be taken
    over at once, long before its session ends. The wait has no limit, because fetched records cannot be put back.
    """
    while not _is_decided(look()) and not give_up():
        time.sleep(_LOOK_S)


def _is_decided(now: Snapshot) -> bool:
    """Is the member confirmed, or out of the group?"""
    if now.state is MemberState.FATAL and now.error is not None:
        raise now.error
    if now.state in {MemberState.FENCED, MemberState.STALE}:
        return True
    if now.heartbeat_age_s is None or now.heartbeat_interval_s is None:
        return False
    return now.heartbeat_age_s <= now.heartbeat_interval_s + _LATE_S


def _failed(detail: str, cause: Exception) -> SlotFailedError:
    failed = SlotFailedError(detail)
    failed.add_note(cause_note(cause))
    return failed


def _records(messages: list[Message]) -> list[Message]:
    """The messages without librdkafka's errors: those that pass are logged, fatal ones are raised."""
    errors = [error for message in messages if (error := message.error()) is not None]
    if not errors:
        return messages
    for error in errors:
        if error.fatal():
            raise KafkaException(error)
        if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - that is its name
            _log.warning("librdkafka reports an error while reading: %s", error)
    return [message for message in messages if message.error() is None]


def _after(record: Message) -> Place:
    topic, partition, offset = record.topic(), record.partition(), record.offset()
    assert topic is not None and partition is not None and offset is not None  # noqa: PT018 - a record has all three
    return Place(topic, partition, offset + 1)


# --- the Python process in which a slot runs: where it is, and the signals that end it -------------------------------

_ARGUMENT = re.compile(rb"--executor-id\0([^\0]+)\0")
_LOG_URL = re.compile(r"executorId=([^&]+)")


def place() -> dict[str, str | int | None]:
    """Host, process and executor: for the progress table, and for the driver, which must know the slots of an executor."""
    return {"host": os.environ.get("SPARK_LOCAL_HOSTNAME") or _host(), "pid": os.getpid(), "executor": executor_id()}


def executor_id() -> str | None:
    """None in local mode, where the driver is the executor, and where nothing has the id."""
    given = os.environ.get("SPARK_EXECUTOR_ID") or _in_log_url(os.environ.get("SPARK_LOG_URL_STDERR", ""))
    return given or _in_arguments(os.getppid())


def _host() -> str:
    return os.environ.get("SPARK_LOCAL_IP") or socket.gethostname()


def _in_log_url(url: str) -> str | None:
    found = _LOG_URL.search(url)
    return found[1] if found else None


def _in_arguments(daemon: int) -> str | None:
    """From the command line of the executor's JVM, the parent of the daemon that started this Python worker."""
    try:
        stat = Path(f"/proc/{daemon}/stat").read_text()
        jvm = stat.rpartition(")")[2].split()[1]
        found = _ARGUMENT.search(Path(f"/proc/{jvm}/cmdline").read_bytes())
    except (OSError, IndexError):
        return None
    return found[1].decode() if found else None


# --- signals ---------------------------------------------------------------------------------------------------------


class Signals:
    """While entered, SIGTERM and SIGHUP become a notice. Does nothing outside the main thread.

    Spark sends SIGHUP to Python workers when their executor is gone. A handler that goes on for longer than `grace_s`
    after that is ended by SIGALRM: its result cannot reach Spark any more.
    """

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._before: dict[signal.Signals, Any] = {}
        self.notice: Notice | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signal.signal() calls it
        name = signal.Signals(number).name
        if number == signal.SIGHUP:
            signal.setitimer(signal.ITIMER_REAL, self._grace_s)
        self.notice = Notice(Ending.MOVED, f"{name}: the executor ended" if number == signal.SIGHUP else name)
