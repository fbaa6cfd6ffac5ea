"""The end of a Consumer: from any thread, once, in time, and for good."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException

from membership_client import CloseReport, Consumer, MemberClosedError
from tests.consumer.helpers import Reader, World, in_thread
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.kafka


def poll_for_ever(reader: Reader) -> None:
    while True:
        reader.poll(-1)


def poll_often(reader: Reader) -> None:
    while True:
        reader.poll(0.01)


def consume_for_ever(reader: Reader) -> None:
    while True:
        reader.consume(10_000, -1)


@pytest.mark.parametrize("read", [poll_for_ever, poll_often, consume_for_ever])
def test_another_thread_may_close(world: World, read: Callable[[Reader], None]) -> None:
    """It gives the partitions back and leaves in time; the one who polls is told that the consumer is closed."""
    reader = world.owner()
    with in_thread(lambda: read(reader)) as outcome:
        report = reader.consumer.close(timeout_s=10)
        assert report.clean, report
    (error,) = outcome
    assert isinstance(error, (MemberClosedError, RuntimeError)), error
    assert len(reader.events("revoke")) == 1
    assert world.group.describe().members == ()


def test_threads_that_close_at_the_same_time_both_return(world: World) -> None:
    """One of them does the work."""
    reader = world.owner()
    with in_thread(reader.consumer.close) as first, in_thread(reader.consumer.close) as second:
        pass
    assert [getattr(report, "clean", report) for report in (*first, *second)] == [True, True]
    assert len(reader.events("revoke")) == 1


def test_a_second_close_does_nothing(world: World) -> None:
    """It returns the first one's report."""
    consumer = world.owner().consumer
    assert consumer.close() == consumer.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda consumer: consumer.poll(0.1),
        lambda consumer: consumer.consume(1, 0.1),
        lambda consumer: consumer.subscribe(["topic"]),
        lambda consumer: consumer.unsubscribe(),
        lambda consumer: consumer.commit(asynchronous=False),
        lambda consumer: consumer.assignment(),
        lambda consumer: next(iter(consumer)),
    ],
)
@pytest.mark.parametrize("joined", [True, False])
def test_a_closed_consumer_refuses_to_work(world: World, use: Callable[[Consumer], object], joined: bool) -> None:
    """With an error, at once."""
    consumer = (world.owner() if joined else world.reader()).consumer
    consumer.close()
    with pytest.raises((KafkaException, RuntimeError)):
        use(consumer)


def test_a_callback_may_close_its_own_consumer(world: World) -> None:
    """As a signal handler that runs inside it does: the close goes on when the callback has returned, and poll() says so."""
    reports: list[CloseReport] = []
    reader = world.join(assign=lambda consumer, _: reports.append(consumer.close()))
    with pytest.raises(MemberClosedError):
        eventually(reader.poll, "a poll that finds it closed")
    assert [step.outcome for step in reports[0].steps] == ["goes on when the callback or poll() has returned"]
    assert world.group.describe().members == ()


def test_a_callback_that_raises_does_not_stop_a_close(world: World) -> None:
    """The close goes to its end and then raises: the bug was that it stayed half open, with a thread that knocked."""
    error = ZeroDivisionError("in on_revoke")

    def fail(*_: object) -> None:
        raise error

    reader = world.owner(revoke=fail)
    with pytest.raises(ZeroDivisionError) as caught:
        reader.consumer.close()
    assert caught.value is error
    assert world.group.describe().members == ()
    with pytest.raises(RuntimeError, match="closed"):
        reader.consumer.assignment()


def test_a_close_on_another_thread_leaves_signal_handlers_alone(world: World) -> None:
    """Only the main thread may set them: the bug was that such a close failed."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        reader = world.owner()
        reader.consumer.stop_on_signals(signal.SIGTERM)
        with in_thread(reader.consumer.close) as outcome:
            pass
        assert getattr(outcome[0], "clean", outcome[0]) is True
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_close_waits_no_longer_than_it_was_told(world: World) -> None:
    """For a callback that does not return; the consumer is closed all the same."""
    stuck = threading.Event()
    reader = world.owner(revoke=lambda *_: stuck.wait(3 * PATIENCE_S))
    new = world.join()
    with in_thread(lambda: reader.poll(2)):
        eventually(lambda: (new.poll(), reader.events("revoke"))[1], "a callback that hangs")
        with in_thread(lambda: reader.consumer.close(timeout_s=1)) as outcome:
            pass
        assert getattr(outcome[0], "clean", outcome[0]) is False
        stuck.set()
