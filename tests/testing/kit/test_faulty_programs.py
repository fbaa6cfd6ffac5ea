"""Programs and tests with faults: the kit reports them soon, and nothing else is affected."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from membership_client import ConfigError, Consumer, ListenerError, aio
from membership_client import TopicPartition as Place
from membership_client.testing import EmbeddedKafka, KafkaGroup, StoryError, VirtualGroup, What, explore, play
from membership_client.testing.kit import group as groups
from membership_client.testing.kit import scheduler
from membership_client.testing.kit.virtual_consumer import VirtualConsumer
from tests.testing.kit.programs import CONFIG, careful

CONSUMERS = pytest.mark.parametrize("consumer", [Consumer, confluent_kafka.Consumer], ids=["ours", "confluent"])


# --- in virtual time -------------------------------------------------------------------------------------------------


def test_a_loop_without_calls_is_found_once_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was once played again to make its story shorter, 20 s each time, and its threads stayed in the test's process."""
    monkeypatch.setattr(scheduler, "REAL_TIMEOUT_S", 0.2)
    before, runs = threading.active_count(), []

    def program(instance: Any) -> None:
        runs.append(instance)
        while True:
            pass

    with pytest.raises(StoryError, match=r"(?s)has not called the consumer for 0.2 s.*, in program\n    (while|pass)"):
        explore(program)
    assert len(runs) == 1
    wait_until(lambda: threading.active_count() <= before)


def wait_until(condition: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def test_a_deadlock_is_shown_with_its_line() -> None:
    """The report once did not say for which lock two threads wait."""

    def program(_: Any) -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    with pytest.raises(StoryError, match=r"(?s)Instance a does not end .* in program\n    lock.acquire\(\)"):
        play(program)


@pytest.mark.parametrize("topics", [["order"], []])
def test_a_program_without_partitions_is_told_so(topics: list[str]) -> None:
    """The advice was once to take fewer records."""

    def program(instance: Any) -> None:
        consumer = instance.consumer(CONFIG)
        consumer.subscribe(topics)
        consumer.poll(-1)

    with pytest.raises(StoryError, match=r"No instance was assigned a partition: .* subscribe to 'orders'"):
        play(program)


def test_a_text_is_no_list_of_topics() -> None:
    """Each of its letters once counted as a topic."""
    with pytest.raises(StoryError, match="did you mean"):
        play(lambda instance: instance.consumer().subscribe("orders"))


def test_a_record_that_a_run_does_not_have_is_refused() -> None:
    """The check of the history once raised a bare KeyError."""
    stranger = confluent_kafka.Message(topic="orders", partition=0, offset=1000)
    with pytest.raises(StoryError, match="There is no record orders-0@1000 in this run"):
        play(lambda instance: instance.processed(stranger))


def test_a_consumer_with_a_broker_is_refused() -> None:
    """It once looked for the brokers of the run in real time, and the run did not end."""
    with pytest.raises(StoryError, match=r"a consumer is made by `instance\.consumer"):
        play(lambda instance: Consumer(instance.config))

    async def program(instance: Any) -> None:
        aio.Consumer(instance.config)

    with pytest.raises(StoryError, match=r"a consumer is made by `instance\.consumer"):
        play(program)


def test_threads_play_one_after_the_other() -> None:
    """Replaced functions of Python's modules were once restored in the wrong order, and stayed virtual."""
    before, explored = (time.sleep, time.monotonic, threading.Lock, threading.Thread.start), []
    threads = [threading.Thread(target=lambda: explored.append(explore(careful, seeds=3))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (time.sleep, time.monotonic, threading.Lock, threading.Thread.start) == before
    assert explored[0] == explored[1] == explored[2]


def test_a_program_cannot_play_stories() -> None:
    """It would wait for the end of its own run."""
    with pytest.raises(StoryError, match="cannot be called by a program that they play"):
        play(lambda _: play(careful))


def exiting(code: int) -> Callable[[Any], None]:
    def program(instance: Any) -> None:
        try:
            careful(instance)
        finally:
            sys.exit(code)

    return program


def test_a_program_may_end_by_sys_exit() -> None:
    """Many do after Ctrl-C; any exit code but 0 is a failure."""
    play(exiting(0))
    with pytest.raises(StoryError, match="raised SystemExit"):
        play(exiting(3))


def test_methods_that_are_not_there_are_in_the_documentation() -> None:
    """These are methods of confluent-kafka's consumer that the virtual one lacks."""
    names = {name for name in dir(confluent_kafka.Consumer) if not name.startswith("_")}
    missing = sorted(name for name in names if not hasattr(VirtualConsumer, name))
    *others, last = (f"`{name}`" for name in missing)
    text = " ".join(Path("docs/testing.md").read_text().split())
    assert f"It lacks {', '.join(others)} and {last}" in text


def test_offsets_are_found_by_time() -> None:
    """The offset is that of the first record at or after the time, or the end."""
    found: list[int] = []

    def program(instance: Any) -> None:
        with instance.consumer(CONFIG) as reader:
            reader.subscribe(["orders"])
            for message in reader:
                times = (message.timestamp()[1], 2**50)
                wanted = [TopicPartition("orders", message.partition(), at) for at in times]
                found.extend(each.offset for each in reader.offsets_for_times(wanted))

    play(program, checks=[], records=[("key", "value")])
    assert found == [0, confluent_kafka.OFFSET_END]


# --- on an embedded broker -------------------------------------------------------------------------------------------


def test_sys_exit_ends_the_instance_and_not_the_tests(kafka_group: KafkaGroup) -> None:
    """Raised in a fixture's teardown it once ended the teardown, and later tests found the broker of this one."""
    kafka_group.produce(1)
    kafka_group.join("a", exiting(0))
    kafka_group.join("b", exiting(3))
    kafka_group.wait_assigned("a", "b")
    kafka_group.leave("a")
    with pytest.raises(AssertionError, match=r"Instance b ended by SystemExit\(3\)"):
        kafka_group.check()


def test_one_that_raises_does_not_keep_the_others(kafka_group: KafkaGroup) -> None:
    """All instances end before the broker does."""

    def buggy(_: Any) -> None:
        raise KeyError("orders")

    kafka_group.join("a", careful)
    kafka_group.wait_assigned("a")
    kafka_group.join("b", buggy)
    with pytest.raises(KeyError):
        kafka_group.stop()
    assert {entry.instance for entry in kafka_group.history.of(What.ENDED)} == {"a", "b"}


def test_what_a_wait_has_raised_is_not_raised_by_the_teardown(embedded_kafka: EmbeddedKafka) -> None:
    """One bug was once both a failure and an error in pytest's output."""
    with KafkaGroup(embedded_kafka) as group:
        group.join("a", _buggy)
        with pytest.raises(KeyError):
            group.wait_processed(1)


def test_what_no_wait_has_raised_is_raised_by_the_teardown(embedded_kafka: EmbeddedKafka) -> None:
    """Otherwise the test would pass."""

    def story() -> None:
        with KafkaGroup(embedded_kafka) as group:
            group.join("a", _buggy)

    with pytest.raises(KeyError):
        story()


def _buggy(_: Any) -> None:
    raise KeyError("orders")


@pytest.mark.parametrize("program", [lambda: None, lambda one, other: None])
def test_a_program_is_a_function_of_one_argument(
    kafka_group: KafkaGroup, virtual_group: VirtualGroup, program: Any
) -> None:
    """Other functions were once started, and their TypeError came with the teardown of the test."""
    for use in (explore, play, partial(kafka_group.join, "a"), partial(virtual_group.join, "a")):
        with pytest.raises(ConfigError, match="program is called with one argument, an instance"):
            use(program)


def test_a_program_that_does_not_end_is_shown_with_its_line(
    kafka_group: KafkaGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not reach its poll, or goes on after it."""
    monkeypatch.setattr(groups, "_END_S", 0.2)
    end = threading.Event()

    def absent(_: Any) -> None:
        end.wait()

    def stubborn(instance: Any) -> None:
        while not end.is_set():
            try:
                instance.check_interrupt()
            except KeyboardInterrupt:
                end.wait()

    kafka_group.join("absent", absent)
    kafka_group.join("stubborn", stubborn)
    with pytest.raises(TimeoutError, match=r"(?s)has not called its consumer since.*in absent\n    end.wait\(\)"):
        kafka_group.leave("absent")
    with pytest.raises(TimeoutError, match=r"(?s)goes on after KeyboardInterrupt.*in stubborn\n    end.wait\(\)"):
        kafka_group.leave("stubborn")
    end.set()


def test_a_consumer_may_be_closed_after_its_broker() -> None:
    """The interpreter closes a consumer that the program has not closed: its revoke once raised, because the history asks the broker."""
    left: list[Any] = []

    def forgetful(instance: Any) -> None:
        left.append(consumer := instance.consumer(CONFIG))
        consumer.subscribe(["orders"])
        while True:
            consumer.poll(1.0)

    with EmbeddedKafka() as kafka, KafkaGroup(kafka) as group:
        group.join("a", forgetful, consumer=confluent_kafka.Consumer)
        group.wait_assigned("a")
    left[0].close()
    assert What.REVOKED in {entry.what for entry in group.history.entries}


@CONSUMERS
def test_records_of_other_topics_and_producers(kafka_group: KafkaGroup, consumer: Any) -> None:
    """A program may read other topics: their records once raised KeyError, which looked like a condition that is not true yet."""
    kafka_group.kafka.create_topic("retry")

    def program(instance: Any) -> None:
        with instance.consumer(CONFIG) as reader:
            reader.subscribe(["orders", "retry"])
            for message in reader:
                instance.processed(message)
                reader.commit(message, asynchronous=False)

    producer = confluent_kafka.Producer({"bootstrap.servers": kafka_group.kafka.bootstrap_servers})
    producer.produce("retry", b"again", b"key")
    producer.produce("orders", b"own", partition=0)
    producer.flush()
    kafka_group.produce(20)
    kafka_group.join("a", program, consumer=consumer)
    kafka_group.wait_assigned("a")
    kafka_group.wait_processed(22)
    history = kafka_group.check()
    assert {record.value for record in history.processed} >= {b"again", b"own", b"value-0", b"value-19"}
    assert {record.offset for record in history.records if record.partition == Place("orders", 0)} >= {1}


@CONSUMERS
def test_what_a_consumer_refuses_is_refused(kafka_group: KafkaGroup, consumer: Any) -> None:
    """A text once counted as topics of one letter, and a misspelt callback or a coroutine was never called."""
    raised: list[BaseException] = []

    async def coroutine(_: Any, __: Any) -> None:
        """A callback that nothing would await."""

    def program(instance: Any) -> None:
        with instance.consumer(CONFIG) as reader:
            attempts: list[Callable[[], object]] = [
                lambda: reader.subscribe("orders"),
                lambda: reader.subscribe(["orders"], on_asign=print),
                lambda: reader.subscribe(["orders"], on_assign=coroutine),
            ]
            for attempt in attempts:
                with pytest.raises((TypeError, KafkaException, ListenerError)) as caught:
                    attempt()
                raised.append(caught.value)

    kafka_group.join("a", program, consumer=consumer)
    kafka_group.wait_for(lambda: any(kafka_group.history.of(What.ENDED)))
    kafka_group.stop()
    assert len(raised) == 3


@CONSUMERS
def test_an_empty_commit_stays_empty(kafka_group: KafkaGroup, consumer: Any) -> None:
    """`commit(offsets=[])` once committed the position of every partition."""

    def program(instance: Any) -> None:
        with instance.consumer(CONFIG) as reader:
            reader.subscribe(["orders"])
            instance.processed(reader.poll())
            with pytest.raises(KafkaException) as caught:
                reader.commit(offsets=[], asynchronous=False)
            assert caught.value.args[0].code() == KafkaError._NO_OFFSET

    kafka_group.produce(1)
    kafka_group.join("a", program, consumer=consumer)
    kafka_group.wait_processed(1)
    kafka_group.wait_for(lambda: any(kafka_group.history.of(What.ENDED)))
    kafka_group.stop()
    assert kafka_group.kafka.committed(kafka_group.group_id) == {}
