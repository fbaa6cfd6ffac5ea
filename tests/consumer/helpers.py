"""Consumers that keep what happened to them, and the topic and group of a test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException, Message, Producer

from membership_client import Consumer, MemberState, TopicPartition
from membership_client.admin import GroupAdmin
from tests.integration.members import PATIENCE_S, QUICK, Group, eventually

Places = list[confluent_kafka.TopicPartition]
Action = Callable[[Consumer, Places], object]
"""A function that a test calls inside a callback."""


@dataclass(frozen=True, slots=True)
class Event:
    """A callback's kind and partitions; or a record, with its partition and offset."""

    kind: str
    partitions: frozenset[int]
    offset: int = -1


class Reader:
    """A Consumer and its story: callbacks and records, in the order in which they came."""

    def __init__(self, world: World, config: dict[str, Any], **actions: Action) -> None:
        self.story: list[Event] = []
        self.records: list[Message] = []
        self._world = world
        self._actions = actions
        self.consumer = Consumer(config)

    def subscribe(self, *topics: str) -> None:
        hooks = {f"on_{kind}": self._hook(kind) for kind in ("assign", "revoke", "lost")}
        self.consumer.subscribe(list(topics) or [self._world.topic], **hooks)

    def _hook(self, kind: str) -> Action:
        def hook(consumer: Consumer, places: Places) -> None:
            self.story.append(Event(kind, frozenset(place.partition for place in places)))
            if kind in self._actions:
                self._actions[kind](consumer, places)

        return hook

    def poll(self, timeout_s: float = 0.05) -> Message | None:
        return next(iter(self.note([self.consumer.poll(timeout_s)])), None)

    def consume(self, count: int, timeout_s: float = 0.05) -> list[Message]:
        return self.note(self.consumer.consume(count, timeout_s))

    def note(self, messages: Iterable[Message | None]) -> list[Message]:
        """The records that came; raises an error that came instead of one."""
        came = [message for message in messages if message is not None]
        for message in came:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            self.records.append(message)
            self.story.append(Event("record", frozenset({number_of(message)}), offset_of(message)))
        return came

    def read(self, count: int) -> list[Message]:
        """The next `count` records."""
        start = len(self.records)
        eventually(lambda: (self.poll(), len(self.records) - start >= count)[1], f"{count} records")
        return self.records[start:]

    def events(self, kind: str) -> list[Event]:
        return [event for event in tuple(self.story) if event.kind == kind]

    @property
    def owned(self) -> frozenset[int]:
        return frozenset(partition.partition for partition in self.consumer.snapshot.owned)

    @property
    def places_read(self) -> list[tuple[int, int]]:
        """Partition and offset of every record."""
        return [(number_of(message), offset_of(message)) for message in tuple(self.records)]

    def assert_nothing_after_revoke(self) -> None:
        """Assert that no record came of a partition that was not held at that moment."""
        held: frozenset[int] = frozenset()
        for event in self.story:
            if event.kind == "record":
                assert event.partitions <= held, f"a record of a partition that was given up: {event}"
            held = held | event.partitions if event.kind == "assign" else held
            held = held - event.partitions if event.kind in {"revoke", "lost"} else held


class World:
    """A topic, its group on the same broker, and the readers of a test; `settings` are the group's."""

    def __init__(self, bootstrap_servers: str, name: str, partitions: int, **settings: int) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.group = Group(bootstrap_servers, name)
        self.topic = self.group.topic
        self.partitions = partitions
        self.readers: list[Reader] = []
        self.group.admin.set_group_config(self.group.id, **(QUICK | settings))
        self.group.admin.create_topic(self.topic, partitions)

    def config(self, more: dict[str, Any] | None = None) -> dict[str, Any]:
        """Reads from the start, and commits only when told, unless it says otherwise."""
        base = {"bootstrap.servers": self.bootstrap_servers, "group.id": self.group.id, "log_level": 0}
        return {**base, "auto.offset.reset": "earliest", "enable.auto.commit": False, **(more or {})}

    def reader(self, config: dict[str, Any] | None = None, **actions: Action) -> Reader:
        """A reader that has not subscribed yet."""
        self.readers.append(Reader(self, self.config(config), **actions))
        return self.readers[-1]

    def join(self, config: dict[str, Any] | None = None, **actions: Action) -> Reader:
        """A reader that has subscribed; nothing is awaited."""
        reader = self.reader(config, **actions)
        reader.subscribe()
        return reader

    def owner(self, config: dict[str, Any] | None = None, **actions: Action) -> Reader:
        """A reader that owns all partitions; records that came meanwhile are in `records`."""
        reader = self.join(config, **actions)
        self.settle(reader)
        return reader

    def settle(self, *readers: Reader) -> None:
        """Poll them in turn until each partition has an owner among them and nothing more is to change."""
        eventually(lambda: self._is_settled(readers), f"{self.partitions} partitions shared by {len(readers)}")

    def _is_settled(self, readers: tuple[Reader, ...]) -> bool:
        for reader in readers:
            reader.poll(0.02)
        owned = [number for reader in readers for number in reader.owned]
        stable = all(reader.consumer.snapshot.state is MemberState.STABLE for reader in readers)
        return stable and sorted(owned) == list(range(self.partitions)) and all(reader.owned for reader in readers)

    def produce(self, count: int, partitions: Iterable[int] | None = None, topic: str | None = None) -> None:
        """Produce `count` records to each of the partitions."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, "log_level": 0})
        for number in range(self.partitions) if partitions is None else partitions:
            for _ in range(count):
                producer.produce(topic or self.topic, b"record", partition=number)
        producer.flush()

    def place(self, number: int, offset: int = confluent_kafka.OFFSET_INVALID) -> confluent_kafka.TopicPartition:
        return confluent_kafka.TopicPartition(self.topic, number, offset)

    def committed(self, timeout_s: float = PATIENCE_S) -> dict[int, int]:
        """As seen from outside: the offset of each partition that has one.

        Not through confluent-kafka: its list_consumer_group_offsets() crashes the process on an error that passes.
        """
        wanted = [TopicPartition(self.topic, number) for number in range(self.partitions)]
        with GroupAdmin(self.bootstrap_servers, timeout_s=timeout_s) as admin:
            found = admin.committed(self.group.id, wanted)
        return {partition.partition: offset.offset for partition, offset in found.items()}

    def close(self) -> None:
        for reader in self.readers:
            with contextlib.suppress(Exception):  # What the test's own callbacks raise is not the matter here.
                reader.consumer.close(timeout_s=2)


@contextlib.contextmanager
def in_thread(action: Callable[[], object]) -> Iterator[list[object]]:
    """Run it on another thread meanwhile; at the end it has returned. Gives what it returned or raised, once it has."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(action())
        except BaseException as error:  # noqa: BLE001 - for the test to look at
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield outcome
    finally:
        thread.join(PATIENCE_S)
    assert not thread.is_alive(), "still under way"


def number_of(message: Message) -> int:
    partition = message.partition()
    assert partition is not None
    return partition


def offset_of(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
