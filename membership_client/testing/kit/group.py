"""`KafkaGroup`: a group for tests on an embedded broker, with the real client and its threads."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Self

import confluent_kafka

from membership_client import aio
from membership_client.arguments import (
    checked_function,
    checked_instance,
    checked_mapping,
    checked_seconds,
    checked_text,
    checked_topic,
    checked_whole,
)
from membership_client.consumer.consumer import Consumer
from membership_client.errors import ConfigError
from membership_client.testing.arguments import checked_program
from membership_client.testing.embedded.kafka import EmbeddedKafka
from membership_client.testing.kit.checks import CHECKS, Check, checked_checks, told_what_happened
from membership_client.testing.kit.history import Entry, History, Record, What
from membership_client.testing.kit.recorded_aio_consumer import RecordedAioConsumer
from membership_client.testing.kit.recorded_consumer import RecordedConsumer
from membership_client.testing.kit.recorded_listener import RecordedListener, recorded_listener
from membership_client.testing.kit.recorder import Recorder
from membership_client.testing.kit.records import Records, checked_records, partition_of
from membership_client.testing.kit.stack import stack_of
from membership_client.types import TopicPartition

_END_S = 30.0
_FETCHER = {"group.id": "fetcher", "enable.partition.eof": True, "fetch.wait.max.ms": 20}
"""The longest wait of a fetch: a fetch that waits at one position delays the next fetch at another one."""
_LOOK_S = 0.05
"""How often a program of coroutines is checked for an interrupt."""


class KafkaGroup:
    """Instances of a program in one group, each on a thread with a real consumer, and the history of all of them.

        def test_orders(kafka_group):
            kafka_group.produce(20)
            kafka_group.join("a", program)
            kafka_group.wait_processed(20)
            kafka_group.join("b", program)
            kafka_group.fence("a")
            kafka_group.check()

    `program(instance)` is a program as for `explore`: it gets its consumer from `instance.consumer(config)`, and reports each
    processed record with `instance.processed(message)`. All methods are for the thread of the test. `kafka` has more faults.
    """

    def __init__(
        self, kafka: EmbeddedKafka, *, topic: str = "orders", partitions: int = 4, group_id: str = "group"
    ) -> None:
        self.kafka = checked_instance("kafka", kafka, EmbeddedKafka)
        self.topic = checked_topic("topic", topic)
        self.group_id = checked_text("group_id", group_id)
        self.history = History()
        self.config = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": self.group_id,
            "group.protocol": "consumer",
        }
        """The configuration that any client needs to join the group."""
        self._partitions = checked_whole("partitions", partitions, least=1)
        self._began_at = time.monotonic()
        self._instances: dict[str, RecordedInstance] = {}
        self._told: BaseException | None = None
        """The exception of a program that a wait of the test has raised."""
        kafka.create_topic(self.topic, self._partitions)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for instance in self._instances.values():
            if instance.raised is self._told:  # The test has failed with it already: its teardown must not fail, too.
                instance.raised = None
        self.stop()

    # --- records -----------------------------------------------------------------------------------------------------

    def produce(self, records: Records) -> None:
        """Produce this number of records, or these keys and values. On return they can be read."""
        given = checked_records(records, first=len(self.history.records))
        producer = confluent_kafka.Producer({"bootstrap.servers": self.kafka.bootstrap_servers, "linger.ms": 0})
        offsets: dict[int, int] = {}
        for number, (key, value) in enumerate(given):
            note = partial(_note_offset, offsets, number)
            producer.produce(self.topic, value, key, partition_of(key, self._partitions), on_delivery=note)
        if producer.flush(_END_S):
            raise TimeoutError(f"The embedded broker did not take all records within {_END_S:g} s.")
        self._add_records(given, offsets)

    def _add_records(self, records: Sequence[tuple[bytes, bytes]], offsets: Mapping[int, int]) -> None:
        for number, (key, value) in enumerate(records):
            partition = TopicPartition(self.topic, partition_of(key, self._partitions))
            self.history.records.append(Record(partition, offsets[number], key, value, self._now()))

    # --- what happens to the group -----------------------------------------------------------------------------------

    def join(
        self,
        name: str,
        program: Callable[[Any], object],
        *,
        consumer: Callable[..., Any] = Consumer,
    ) -> None:
        """Start an instance of the program. `consumer` makes its consumer: ours, or `confluent_kafka.Consumer`."""
        checked_program(program)
        checked_function("consumer", consumer, "a configuration")
        instance = RecordedInstance(self, checked_text("name", name), consumer)
        if name in self._instances:
            raise ConfigError(f"An instance {name!r} has joined already: choose another name, or let it leave first.")
        self._instances[name] = instance
        self._add("", What.EVENT, text=f"join({name!r})")
        instance.start(program)

    def leave(self, name: str) -> None:
        """The program's next poll raises KeyboardInterrupt. Returns when it has ended; raises what it has raised."""
        self._instance(name).interrupt()
        self._add("", What.EVENT, text=f"leave({name!r})")
        self._instances.pop(name).join()

    def fence(self, name: str) -> None:
        """See `EmbeddedKafka.fence`."""
        self.kafka.fence(self.member_id(name), group=self.group_id)
        self._add("", What.EVENT, text=f"fence({name!r})")

    def expire_session(self, name: str) -> None:
        """See `EmbeddedKafka.expire_session`."""
        self.kafka.expire_session(self.member_id(name), group=self.group_id)
        self._add("", What.EVENT, text=f"expire_session({name!r})")

    def member_id(self, name: str) -> str:
        """The member id of the instance. Waits until the coordinator knows the member."""
        self._instance(name)
        self.wait_for(lambda: self._member_ids(name))
        return self._member_ids(name)[0]

    def _member_ids(self, name: str) -> list[str]:
        return [one.member_id for one in self.kafka.describe(self.group_id).members if one.client_id == name]

    def _instance(self, name: str) -> RecordedInstance:
        if checked_text("name", name) not in self._instances:
            raise LookupError(f"There is no instance {name!r}; these instances run: {sorted(self._instances)}.")
        return self._instances[name]

    # --- waiting -----------------------------------------------------------------------------------------------------

    def wait_for(self, condition: Callable[[], object], timeout_s: float = 30.0) -> None:
        """Wait until the condition is true, as `EmbeddedKafka.wait_for`. Raises TimeoutError, or the exception of a program."""
        checked_function("condition", condition, "nothing")
        try:
            # A KeyError of a program is a LookupError, too, but it does not mean that the condition is not true yet.
            self.kafka.wait_for(lambda: self._raised() or condition(), checked_seconds("timeout_s", timeout_s))
        except TimeoutError as error:
            raise TimeoutError(f"{error} What happened:\n{self.history}") from None
        if (raised := self._raised()) is not None:
            self._told = raised
            raise raised

    def _raised(self) -> BaseException | None:
        return next((one.raised for one in self._instances.values() if one.raised is not None), None)

    def wait_processed(self, count: int, timeout_s: float = 30.0) -> None:
        """Wait until the instances have processed `count` different records."""
        wanted = checked_whole("count", count)
        self.wait_for(lambda: len(self._processed()) >= wanted, timeout_s)

    def _processed(self) -> set[tuple[tuple[TopicPartition, ...], int | None]]:
        return {(entry.partitions, entry.offset) for entry in self.history.of(What.PROCESSED)}

    def wait_assigned(self, *names: str, timeout_s: float = 30.0) -> None:
        """Wait until exactly these instances share the topic's partitions, and all callbacks for that have returned."""
        wanted = {checked_text("name", name) for name in names}
        self.wait_for(lambda: self._owners() == wanted, timeout_s)

    def _owners(self) -> set[str]:
        members = self.kafka.describe(self.group_id).members
        owned = [partition for one in members for partition in one.current if partition.topic == self.topic]
        is_settled = all(one.current == one.target for one in members) and len(owned) == self._partitions
        return {one.client_id for one in members} if is_settled else set()

    def check(self, *checks: Check) -> History:
        """End all instances and apply the checks; without any, those of `explore`. Returns the history."""
        given = checked_checks(checks)
        self.stop()
        with told_what_happened(self.history):
            for check in given or CHECKS:
                check(self.history)
        return self.history

    def stop(self) -> None:
        """End all instances, as `leave` does."""
        for instance in self._instances.values():
            instance.interrupt()
        with contextlib.ExitStack() as every:  # All are ended, even if one of them does not end, or has raised.
            while self._instances:
                every.callback(self._instances.popitem()[1].join)

    # --- for instances -----------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return time.monotonic() - self._began_at

    def _add(self, instance: str, what: What, **more: Any) -> None:
        """Add an entry to the history. Any thread may call it."""
        self.history.add(Entry(self._now(), instance, what, **more))

    def _released(self, instance: str, partitions: tuple[TopicPartition, ...]) -> None:
        """Note that a revoke has returned: later commits do not count. Any thread may call it.

        A consumer that its program has never closed may revoke after the test, when the interpreter ends.
        """
        with contextlib.suppress(RuntimeError):
            self._add_released(instance, partitions)

    def _add_released(self, instance: str, partitions: tuple[TopicPartition, ...]) -> None:
        committed = self.kafka.committed(self.group_id)
        for partition in partitions:
            if partition in committed:
                self._add(instance, What.COMMITTED, partitions=(partition,), offset=committed[partition])
        with contextlib.suppress(LookupError):
            if self._member_ids(instance):  # A removed member has nothing to release.
                self._add(instance, What.RELEASED, partitions=partitions)


class RecordedInstance:
    """An instance of a program on an embedded broker. It has the methods of `Instance`, and a real consumer."""

    def __init__(self, group: KafkaGroup, name: str, consumer: Callable[..., Any]) -> None:
        self.name = name
        self._group = group
        self.durable: dict[str, Any] = group.history.durable
        self.config: dict[str, Any] = {**group.config, "client.id": name}
        """The configuration for members and consumers that the program makes itself. The group finds them by `client.id`."""
        self._recorder = Recorder(name, group._add, group._released)
        self._consumer = consumer
        self._interrupted = threading.Event()
        self._fetcher: confluent_kafka.Consumer | None = None
        self.raised: BaseException | None = None
        self._thread: threading.Thread | None = None

    # --- for programs ------------------------------------------------------------------------------------------------

    def consumer(self, config: Mapping[str, Any] | None = None) -> RecordedConsumer:
        """A real consumer in the group, with these further keys. It begins with the earliest record."""
        more = checked_mapping("config", config or {})
        return RecordedConsumer(
            self._consumer({**self.config, "auto.offset.reset": "earliest", **more}),
            self._recorder,
            self.check_interrupt,
        )

    def aio_consumer(self, config: Mapping[str, Any] | None = None) -> RecordedAioConsumer:
        """A real consumer of `membership_client.aio`. For a coroutine of the program."""
        more = checked_mapping("config", config or {})
        return RecordedAioConsumer(
            aio.Consumer({**self.config, "auto.offset.reset": "earliest", **more}), self._recorder
        )

    def read(self, partition: TopicPartition, offset: int) -> confluent_kafka.Message | None:
        """The record at that position; None at the end of the partition. For programs that use a `GroupMember`.

        Raises TimeoutError if the broker does not answer.
        """
        if self._fetcher is None:
            self._fetcher = confluent_kafka.Consumer({**self.config, **_FETCHER})
        self._fetcher.assign([confluent_kafka.TopicPartition(*partition, offset)])
        gives_up_at = time.monotonic() + _END_S
        while (left_s := gives_up_at - time.monotonic()) > 0:
            if (message := self._fetcher.poll(left_s)) is None:
                break
            if (error := message.error()) is None:
                return message
            if error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                return None
        raise TimeoutError(f"The embedded broker gave neither a record nor the end of {partition} within {_END_S:g} s.")

    def listener(self, listener: object) -> RecordedListener:
        """Wraps the listener so that its callbacks are in the history. For a `GroupMember` that the program makes with `config`."""
        return recorded_listener(listener, self._recorder)

    def processed(self, message: Any) -> None:
        """Report that the effect of this record is final, such as a write to a database."""
        partition = TopicPartition(message.topic(), message.partition())
        self._note(partition, message)
        self._recorder.add(What.PROCESSED, partitions=(partition,), offset=message.offset())

    def check_interrupt(self) -> None:
        """Raises KeyboardInterrupt, once, when the instance is told to end. For loops that do not use `consumer`."""
        if self._interrupted.is_set():
            self._interrupted.clear()
            raise KeyboardInterrupt

    def _note(self, partition: TopicPartition, message: Any) -> None:
        """Take the value of a record that the test has produced by other means from the message that the program shows."""
        key, value = (getattr(message, part, bytes)() or b"" for part in ("key", "value"))
        record = Record(partition, message.offset(), key, value, self._group._now())
        self._group.history.others.setdefault((partition, message.offset()), record)

    # --- for the group -----------------------------------------------------------------------------------------------

    def start(self, program: Callable[[Any], object]) -> None:
        self._recorder.add(What.STARTED)
        self._thread = threading.Thread(target=self._run, args=(program,), name=f"instance-{self.name}", daemon=True)
        self._thread.start()

    def _run(self, program: Callable[[Any], object]) -> None:
        try:
            if inspect.iscoroutinefunction(program):
                asyncio.run(self._until_told(program))
            else:
                program(self)
        except (KeyboardInterrupt, asyncio.CancelledError):
            pass
        except SystemExit as error:
            # SystemExit on the thread of the test would end pytest's teardown, and the following tests would fail.
            self.raised = _exit_error(self.name, error)
        except BaseException as error:  # noqa: BLE001 - raised on the thread of the test
            self.raised = error
        if self.raised is not None:
            self._recorder.add(What.RAISED, text=repr(self.raised))
        if self._fetcher is not None:
            self._fetcher.close()
        self._recorder.add(What.ENDED)

    async def _until_told(self, program: Callable[[Any], Coroutine[Any, Any, object]]) -> None:
        """As `asyncio.run` does with Ctrl-C, an interrupt cancels the program."""
        running = asyncio.create_task(program(self))
        while not running.done():
            await asyncio.wait({running}, timeout=_LOOK_S)
            if self._interrupted.is_set():
                self._interrupted.clear()
                running.cancel()
        await running

    def interrupt(self) -> None:
        self._interrupted.set()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join(_END_S)
            if self._thread.is_alive():
                raise TimeoutError(self._not_ended())
        if self.raised is not None:
            raise self.raised

    def _not_ended(self) -> str:
        assert self._thread is not None
        raised = (
            "has not called its consumer since" if self._interrupted.is_set() else "goes on after KeyboardInterrupt"
        )
        return (
            f"Instance {self.name} does not end within {_END_S:g} s after it was told to: its program {raised}. "
            f"It is here:\n{stack_of(self._thread.ident)}"
        )


def _note_offset(offsets: dict[int, int], number: int, error: confluent_kafka.KafkaError | None, message: Any) -> None:
    """Handle a delivery report. A KafkaException that it raises comes out of `flush`."""
    if error is not None:
        raise confluent_kafka.KafkaException(error)
    offsets[number] = message.offset()


def _exit_error(name: str, error: SystemExit) -> AssertionError | None:
    """The error for a program that ended by `sys.exit` with a failure; None after `sys.exit()` or `sys.exit(0)`."""
    return AssertionError(f"Instance {name} ended by {error!r}.") if error.code else None
