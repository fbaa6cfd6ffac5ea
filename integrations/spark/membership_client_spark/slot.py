"""One slot on an executor: waits for its lease, joins, gives records to the handler, commits, and leaves."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
from membership_client_spark.executor_process import Signals, place
from membership_client_spark.holders import Config, check_newest
from membership_client_spark.incarnation import Incarnation, slot_instance_id
from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import DriverAddress, Line, Notice
from membership_client_spark.slot_config import slot_config
from membership_client_spark.slot_failure import cause_note
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
            return _ending(notice or _Member(task, who, line, signals).run())


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


class _Member:
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
            wait_until_confirmed(lambda: consumer.snapshot, slot.stopping)
            self._hand_over(consumer, slot, records)
        if self._reporter.is_due():
            self._line.say({"report": self._reporter.report(consumer)})

    def _hand_over(self, consumer: Consumer, slot: Slot, records: list[Message]) -> None:
        """Handles and commits the records of partitions that are owned at this moment.

        Others are not committed: the next owner of their partitions reads them.
        """
        last = {(record.topic(), record.partition()): record for record in records}
        owned = {key for key, record in last.items() if consumer.owner_epoch(record) is not None}
        if slot.stopping() or not owned:
            return
        if len(owned) < len(last):
            records = [record for record in records if (record.topic(), record.partition()) in owned]
        with consumer.hold(*(last[key] for key in owned)):
            if not self._handle(records, slot):
                return
            consumer.commit(offsets=[_after(last[key]) for key in owned], asynchronous=False)
        self._reporter.count(len(records))

    def _handle(self, records: list[Message], slot: Slot) -> bool:
        """Whether the records were handled. A handler that raises while the slot is to end did not fail, it ended early."""
        batch = records if self._task.as_messages else record_batch(records)
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

    Raises the error of a member that has ended; returns early if `give_up` says so. `Consumer` asks for a confirmation only
    after a pause of the process. That is not enough here: an attempt that is cut off from the coordinator can be taken
    over at once, long before its session ends. The wait has no limit, because fetched records cannot be put back.
    """
    while not _is_confirmed(look()) and not give_up():
        time.sleep(_LOOK_S)


def _is_confirmed(now: Snapshot) -> bool:
    if now.state is MemberState.FATAL and now.error is not None:
        raise now.error
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
