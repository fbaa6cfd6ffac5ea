"""Idle times of real polling threads: the values in Prometheus, compared with measurements around each call."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from membership_client import Consumer, aio
from tests.integration.members import Group
from tests.telemetry.scrape import Prometheus

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

BATCH = 100
EVERY_S = 0.1
MEASURED_S = 8.0


@pytest.fixture
def config(group: Group) -> Iterator[dict[str, Any]]:
    """The configuration of a group whose topic gets a hundred records ten times a second. It is observed as often."""
    ended = threading.Event()
    feeding = threading.Thread(target=feed, args=(group, ended))
    feeding.start()
    # A twentieth of the poll interval is how often the polling thread is looked at.
    yield {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, "max.poll.interval.ms": 2000}
    ended.set()
    feeding.join()


def feed(group: Group, ended: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": group.bootstrap_servers, "log_level": 0})
    while not ended.wait(EVERY_S):
        for number in range(BATCH):
            producer.produce(group.topic, b"x", partition=number % 6)
        producer.flush()


class Application:
    """Waits for records, works for some time on every hundred of them, and measures how long it waited."""

    def __init__(self, work_s: float) -> None:
        self._work_s = work_s
        self._unfinished = 0
        self.restart()

    def restart(self) -> None:
        self._waited_s, self._began_at = 0.0, time.monotonic()

    def called(self) -> None:
        self._called_at = time.monotonic()

    def got(self, records: int) -> float:
        """How long the work on the complete hundreds takes; mostly there are none."""
        self._waited_s += time.monotonic() - self._called_at
        done, self._unfinished = divmod(self._unfinished + records, BATCH)
        return done * self._work_s

    @property
    def idle(self) -> float:
        return self._waited_s / (time.monotonic() - self._began_at)

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began_at


def by_poll(consumer: Consumer, application: Application) -> None:
    application.called()
    work(application.got(int(consumer.poll(1.0) is not None)))


def by_consume(consumer: Consumer, application: Application) -> None:
    application.called()
    work(application.got(len(consumer.consume(10, 0.05))))


def work(seconds: float) -> None:
    if seconds:
        time.sleep(seconds)


Step = Callable[[Consumer, Application], None]
WORK = {"mostly idle": 0.2 * EVERY_S, "mostly busy": 0.8 * EVERY_S}


@pytest.mark.parametrize("work_s", WORK.values(), ids=WORK)
@pytest.mark.parametrize("step", [by_poll, by_consume])
def test_a_consumer(group: Group, config: dict[str, Any], prometheus: Prometheus, step: Step, work_s: float) -> None:
    """A hundred calls take no time, then come a long wait and long work, of which the watched calls show little."""
    application = Application(work_s)
    with Consumer(config) as consumer:
        consumer.subscribe([group.topic])
        while not told(prometheus, "idle"):
            step(consumer, application)
        application.restart()
        before = told(prometheus, "idle"), told(prometheus, "busy")
        while application.age_s < MEASURED_S:
            step(consumer, application)
        assert_told(prometheus, before, application)


def test_an_asyncio_consumer(group: Group, config: dict[str, Any], prometheus: Prometheus) -> None:
    """Its thread is idle while a task awaits records, and busy otherwise."""
    asyncio.run(mostly_busy(group.topic, config, prometheus))


async def mostly_busy(topic: str, config: dict[str, Any], prometheus: Prometheus) -> None:
    application = Application(WORK["mostly busy"])
    async with aio.Consumer(config) as consumer:
        consumer.subscribe([topic])
        while not told(prometheus, "busy"):
            await consumer.getmany()
        application.restart()
        before = told(prometheus, "idle"), told(prometheus, "busy")
        while application.age_s < MEASURED_S:
            application.called()
            await asyncio.sleep(application.got(len(await consumer.getmany())))
        assert_told(prometheus, before, application)


def told(prometheus: Prometheus, state: str) -> float:
    return prometheus.value("membership_poll_time_seconds_total", membership_poll_state=state)


def assert_told(prometheus: Prometheus, before: tuple[float, float], application: Application) -> None:
    """Nearly all of the time is reported, and rightly, as far as some fifty observations can show."""
    truth, age_s = application.idle, application.age_s
    idle_s, busy_s = told(prometheus, "idle") - before[0], told(prometheus, "busy") - before[1]
    assert idle_s + busy_s == pytest.approx(age_s, rel=0.25)
    assert idle_s / (idle_s + busy_s) == pytest.approx(truth, abs=0.25)
