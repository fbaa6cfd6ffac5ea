"""Incidents in groups of real members. Each incident has a group of its own, and lasts until its block ends."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from confluent_kafka import Producer

from membership_client import Consumer, GroupMember, LeaveMode, MemberState
from membership_client.testing import EmbeddedKafka
from tests.integration.members import PATIENCE_S

TOPIC = "orders"
SETTINGS = {"group.consumer.assignment.interval.ms": 0, "group.consumer.heartbeat.interval.ms": 500}

Incident = Callable[[EmbeddedKafka, str], contextlib.AbstractContextManager[None]]


def _member(kafka: EmbeddedKafka, group: str, **more: str | int) -> GroupMember:
    given = {key.replace("_", "."): value for key, value in more.items()}
    return GroupMember({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, **given})


def _joined(kafka: EmbeddedKafka, group: str, **more: str | int) -> GroupMember:
    member = _member(kafka, group, **more)
    member.subscribe([TOPIC])
    member.wait_until(MemberState.STABLE, PATIENCE_S)
    return member


@contextlib.contextmanager
def _meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Call the function again and again on another thread, in the `with` block."""
    stopped = threading.Event()

    def loop() -> None:
        while not stopped.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@contextlib.contextmanager
def peace(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """A consumer that reads and commits."""
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer(config) as consumer, _joined(kafka, group):
        consumer.subscribe([TOPIC])

        def read() -> None:
            if consumer.poll(0.05) is not None:
                consumer.commit(asynchronous=False)

        with _meanwhile(read):
            yield


@contextlib.contextmanager
def no_owner(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """The only member leaves."""
    member = _joined(kafka, group)
    time.sleep(2)
    member.close(LeaveMode.LEAVE)
    yield


@contextlib.contextmanager
def unsubscribed(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """One of two members unsubscribes and stays open: nothing is wrong."""
    with _joined(kafka, group), _joined(kafka, group) as member:
        member.unsubscribe()
        yield


@contextlib.contextmanager
def storm(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """A member joins and leaves all the time."""

    def guest() -> None:
        with _member(kafka, group) as member:
            member.subscribe([TOPIC])
            member.wait_until(lambda seen: bool(seen.owned), PATIENCE_S)
            time.sleep(0.2)

    with _joined(kafka, group), _meanwhile(guest):
        yield


@contextlib.contextmanager
def waiting(_kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """No coordinator answers the member's join. The incident has its own brokers, which do not answer."""
    with EmbeddedKafka(topics={TOPIC: 6}) as own, ExitStack() as stack:
        own.pause()
        stack.callback(own.resume)
        stack.enter_context(_member(own, group)).subscribe([TOPIC])
        stack.callback(own.resume)
        yield


@contextlib.contextmanager
def slow_polls(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """The time between two polls is more than half of the poll interval, and less than all of it."""
    with _joined(kafka, group, max_poll_interval_ms=6000) as member:

        def work() -> None:
            member.poll()
            time.sleep(4)

        with _meanwhile(work):
            yield


@contextlib.contextmanager
def fences(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """The coordinator fences a member."""
    with _joined(kafka, group) as member:
        time.sleep(2)
        kafka.fence(member.snapshot.member_id, group=group)
        yield


@contextlib.contextmanager
def growing_lag(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """Records come faster than the consumer reads. It has a topic of its own."""
    topic = f"{group}-topic"
    kafka.create_topic(topic)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})

    def produce() -> None:
        for _ in range(100):
            producer.produce(topic, b"order")
        producer.flush()
        time.sleep(0.25)

    def read() -> None:
        consumer.poll(0.05)
        time.sleep(0.05)

    with Consumer({**config, "queued.max.messages.kbytes": 100_000}) as consumer:
        consumer.subscribe([topic])
        with _meanwhile(produce), _meanwhile(read):
            yield


@contextlib.contextmanager
def fatal(kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """The brokers do not have the assignor that the member asks for."""
    with (
        _joined(kafka, group),
        _member(kafka, group, group_remote_assignor="none", group_protocol="consumer") as second,
    ):
        second.subscribe([TOPIC])
        yield


@contextlib.contextmanager
def late_heartbeats(_kafka: EmbeddedKafka, group: str) -> Iterator[None]:
    """The brokers stop answering. The incident has its own brokers."""
    with ExitStack() as stack:
        own = stack.enter_context(EmbeddedKafka(topics={TOPIC: 6}, settings=SETTINGS))
        stack.enter_context(_joined(own, group))
        own.pause()
        stack.callback(own.resume)
        yield


INCIDENTS: dict[Incident, str | None] = {
    peace: None,
    unsubscribed: None,
    no_owner: "MembershipPartitionWithoutOwner",
    storm: "MembershipRebalanceStorm",
    waiting: "MembershipMemberWaiting",
    slow_polls: "MembershipPollBudget",
    fences: "MembershipFenced",
    growing_lag: "MembershipLagGrows",
    fatal: "MembershipFatal",
    late_heartbeats: "MembershipHeartbeatLate",
}
"""Each with the one alert that fires in it."""
