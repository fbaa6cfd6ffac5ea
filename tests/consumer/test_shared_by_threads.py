"""A Consumer that several threads share, and one whose threads cannot start: what broke in the hands of strangers."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaException

from membership_client import Consumer, MemberClosedError, MemberState
from membership_client.errors import FencedInstanceIdError
from tests.consumer.helpers import Reader, World, in_thread
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.kafka


def polling(reader: Reader, stop: threading.Event) -> Callable[[], None]:
    """For a thread: polls until told to stop, or until the consumer is closed."""

    def poll() -> None:
        with contextlib.suppress(MemberClosedError):
            while not stop.is_set():
                reader.poll(0.2)

    return poll


def test_two_threads_that_share_a_consumer_read_everything_once(world: World) -> None:
    """Often no record was ever read."""
    world.produce(200)
    reader, stop = world.join(), threading.Event()
    with in_thread(polling(reader, stop)), in_thread(polling(reader, stop)):
        try:
            eventually(lambda: len(reader.records) >= 800, "all records")
        finally:
            stop.set()
    assert sorted(reader.places_read) == [(p, o) for p in range(4) for o in range(200)]


def test_a_rebalance_gets_through_to_two_threads_that_share_a_consumer(world: World) -> None:
    """The second consumer got no partitions."""
    old, new, stop = world.join(), world.reader(), threading.Event()
    with in_thread(polling(old, stop)), in_thread(polling(old, stop)):
        try:
            eventually(lambda: len(old.owned) == 4, "an owner")
            new.subscribe()
            eventually(lambda: (new.poll(), len(new.owned) == 2)[1], "a share")
        finally:
            stop.set()
    assert len(old.events("revoke")) == 1


@pytest.mark.parametrize("call", [lambda c: c.poll(-1), lambda c: c.consume(10, -1), list])
def test_a_poller_is_released_by_a_close_on_another_thread(world: World, call: Callable[[Consumer], Any]) -> None:
    """It went on waiting, and the error was never raised."""
    reader = world.owner()
    with in_thread(lambda: call(reader.consumer)) as outcome:
        assert reader.consumer.close().clean
    assert isinstance(outcome[0], MemberClosedError) or outcome[0] == []


def test_a_blocking_poll_raises_what_ended_the_member(world: World) -> None:
    """After poll(0) the next poll was the C method, which waited for ever."""
    static = {"group.instance.id": "one", "group.instance.id.conflict": "takeover"}
    old = world.owner(static)
    old.consumer.poll(0)
    with in_thread(lambda: old.poll(-1)) as outcome:
        new = world.join(static)
        eventually(lambda: (new.poll(), len(new.owned) == 4)[1], "a takeover")
    assert isinstance(outcome[0], FencedInstanceIdError)


def test_a_blocking_poll_raises_what_a_callback_raised(world: World) -> None:
    """At once, on the thread that ran it."""
    error = ZeroDivisionError("in on_assign")

    def fail(*_: object) -> None:
        raise error

    reader = world.join(assign=fail)
    with in_thread(lambda: (reader.consumer.poll(0), reader.consumer.poll(-1))) as outcome:
        pass
    assert outcome == [error]


def test_a_passing_lack_of_threads_is_survived(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One failed Thread.start, and rebalances, automatic commits and the poll clock were dead for good."""
    world.produce(5)
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.endswith("-commits"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    reader = world.join({"enable.auto.commit": True, "auto.commit.interval.ms": 100})
    eventually(lambda: (reader.poll(), reader.consumer._queue.call is not None)[1], "an assignment that waits")
    monkeypatch.undo()
    reader.read(20)
    eventually(lambda: (reader.poll(), world.committed() == dict.fromkeys(range(4), 5))[1], "automatic commits")


def test_unsubscribe_gives_partitions_back_by_itself(world: World) -> None:
    """Without a later poll they stayed for up to five minutes."""
    old, new = world.owner(), world.join()
    old.consumer.unsubscribe()
    assert old.story[-1].kind == "revoke"
    assert not old.owned
    eventually(lambda: (new.poll(), len(new.owned) == 4)[1], "all partitions")


def test_a_signal_handler_may_close_inside_poll(world: World) -> None:
    """It took its whole ten seconds; now poll() closes when the handler has returned, and says so."""
    reader = world.owner()
    before = signal.signal(signal.SIGUSR1, lambda *_: reader.consumer.close())
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGUSR1])
    timer.start()
    try:
        with pytest.raises(MemberClosedError):
            eventually(lambda: reader.poll(PATIENCE_S), "a poll that ends")
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert world.group.describe().members == ()


def test_a_signal_handler_that_closes_and_exits_leaves_the_group(world: World) -> None:
    """The exception of the handler goes through poll(), which closes before it goes on."""

    def close_and_exit(*_: object) -> None:
        reader.consumer.close()
        raise SystemExit

    reader = world.owner()
    before = signal.signal(signal.SIGUSR1, close_and_exit)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGUSR1])
    timer.start()
    try:
        with pytest.raises(SystemExit):
            reader.poll(PATIENCE_S)
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert world.group.describe().members == ()


# --- without a subscription ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [Consumer.close, Consumer.unassign])
def test_automatic_commits_of_an_assignment_by_hand_are_made_at_its_end(
    world: World, end: Callable[[Consumer], object]
) -> None:
    """Nothing was committed at close or unassign."""
    world.produce(10)
    reader = world.reader({"enable.auto.commit": True})
    reader.consumer.assign([world.place(number) for number in range(4)])
    reader.read(15)
    end(reader.consumer)
    read = [number for number, _ in reader.places_read]
    assert world.committed() == {number: read.count(number) for number in set(read)}


def test_a_failed_commit_without_a_subscription_can_be_repeated(world: World) -> None:
    """It was taken for done."""
    world.produce(10)
    reader = world.reader()
    reader.consumer.assign([world.place(0)])
    reader.read(10)
    other = world.join()
    eventually(lambda: (other.poll(), other.consumer.snapshot.state is MemberState.STABLE)[1], "a member of the group")
    with pytest.raises(KafkaException):  # A group with members takes commits of its members only.
        reader.consumer.commit(asynchronous=False)
    other.consumer.close()
    committed = reader.consumer.commit(asynchronous=False)
    assert committed is not None
    assert [(place.partition, place.offset) for place in committed] == [(0, 10)]


def test_a_seek_back_is_not_committed_backwards(world: World) -> None:
    """Automatic commits only go forward, as librdkafka's: a seek() back is for reading again."""
    world.produce(10)
    reader = world.owner({"enable.auto.commit": True, "auto.commit.interval.ms": 100})
    reader.read(40 - len(reader.records))
    eventually(lambda: (reader.poll(), world.committed() == dict.fromkeys(range(4), 10))[1], "automatic commits")
    for number in range(4):
        reader.consumer.seek(confluent_kafka.TopicPartition(world.topic, number, 3))
    reader.read(28)
    reader.consumer.close()
    assert world.committed() == dict.fromkeys(range(4), 10)
