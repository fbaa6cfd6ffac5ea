"""Plays a program with one of the two libraries, and writes down what each call returned or raised."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTimeError
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, Producer, TopicPartition

from membership_client import TopicPartition as OurPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin
from tests.differential.canonical import Said, raised, returned
from tests.differential.outage import Outage
from tests.differential.program import Place, Program, Step
from tests.differential.wrong_calls import WRONG_CALLS
from tests.integration.members import QUICK

_PATIENCE_S = 15.0
_SETTLED_S = 50.0
"""confluent-kafka was once seen to need more than 15 s for a rebalance after a member had left."""
_HANGS_S = 90.0
_QUIET_POLLS = 3
"""How many polls in a row must return nothing before no further record is expected."""

Partition = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a program. `calls` has one entry per step; `committed` has the group's offsets, by topic and partition."""

    calls: tuple[object, ...]
    committed: dict[Partition, tuple[int, str]]
    delivered: dict[Partition, tuple[int, ...]]
    """Each offset once, sorted: for programs in which it is not known which consumer reads what, and how often."""


class World:
    """One broker, and one producer, for all programs. Programs in which the broker stops need an `outage`."""

    def __init__(self, bootstrap_servers: str, outage: Outage | None = None) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.outage = outage
        self.cluster = ClusterAdmin(bootstrap_servers)
        self.producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "log_level": 0})


def play(program: Program, library: type[Any], world: World) -> Outcome:
    """`library` is the Consumer to play with."""
    player = _Player(program, library, world)
    try:
        return player.play()
    finally:
        player.end()


class _Player:
    def __init__(self, program: Program, library: type[Any], world: World) -> None:
        self._program = program
        self._library = library
        self._world = world
        self._prefix = f"differential-{uuid.uuid4().hex[:8]}"
        self._names = {f"{self._prefix}-{number}": number for number in range(len(program.topics))}
        self._topics = list(self._names)
        self._group = f"{self._prefix}-group"
        for name, partitions in zip(self._topics, program.topics, strict=True):
            world.cluster.create_topic(name, partitions)
        world.cluster.set_group_config(self._group, **QUICK)
        self._threads = [ThreadPoolExecutor(1, f"program-{number}") for number in range(3)]
        self._ends: dict[Partition, int] = defaultdict(int)
        self._next: dict[Partition, int] = {}
        """The offset of the next record that is to come, by partition that is assigned."""
        self._paused: set[Partition] = set()
        self._delivered: dict[Partition, list[int]] = defaultdict(list)
        self._story: list[object] = []
        """Records, events and callbacks since the last entry was written."""
        self._reports: list[object] = []
        self._came: list[Message] = []
        """Records of this step."""
        self._last: Message | None = None
        """The last record of the step in sorted order, because the broker decides which one comes first."""
        self._second: Any = None
        self._subscribed = False
        self._wanted: tuple[int, ...] = ()
        """The topics that are subscribed."""
        self._closed = False
        self._consumer = library(self._config())

    def play(self) -> Outcome:
        calls = tuple(self._take_turn(step) for step in self._program.steps)
        delivered = {place: tuple(sorted(set(offsets))) for place, offsets in self._delivered.items()}
        return Outcome(calls, self._committed_outside(), delivered)

    def end(self) -> None:
        for consumer in filter(None, (self._consumer, self._second)):
            with contextlib.suppress(Exception):
                consumer.close()
        for thread in self._threads:
            thread.shutdown(wait=False)
        for name in self._topics:  # A broker with thousands of them has no memory left.
            with contextlib.suppress(Exception):
                self._world.cluster.delete_topic(name)

    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = dict(self._program.config)
        base = {"bootstrap.servers": self._world.bootstrap_servers, "group.id": self._group, "log_level": 0}
        if not config["enable.auto.commit"]:
            config["on_commit"] = self._on_commit
        return {**base, "auto.offset.reset": "earliest", **config}

    def _take_turn(self, step: Step) -> object:
        self._story.clear()
        self._last = max(self._came, key=_order_of, default=self._last)
        self._came.clear()
        method: Callable[..., object] = getattr(self, f"_{step.call}")
        try:
            value = returned(self._threads[step.thread].submit(method, *step.arguments).result(_HANGS_S), self._names)
        except NotInTimeError:
            return "hangs"
        except Exception as error:  # noqa: BLE001 - it is what is compared
            value = raised(error)
        return (value, *self._story) if self._story and self._program.exact else value

    # --- outside the consumer ----------------------------------------------------------------------------------------

    def _produce(self, place: Place, count: int) -> None:
        for _ in range(count):
            self._world.producer.produce(self._topics[place.topic], b"record", partition=place.partition)
        self._world.producer.flush()
        self._ends[place.topic, place.partition] += count

    def _committed_outside(self) -> dict[Partition, tuple[int, str]]:
        wanted = [
            OurPartition(name, number)
            for name, n in zip(self._topics, self._program.topics, strict=True)
            for number in range(n)
        ]
        # On a busy machine a broker that was started again knows its groups after more than the 10 s of the default.
        with GroupAdmin(self._world.bootstrap_servers, timeout_s=4 * _PATIENCE_S) as admin:
            found = admin.committed(self._group, wanted)
        return {(self._names[p.topic], p.partition): (o.offset, o.metadata.rstrip("\0")) for p, o in found.items()}

    def _broker_stops(self) -> None:
        assert self._world.outage is not None
        self._world.outage.begin()

    def _broker_starts(self) -> None:
        assert self._world.outage is not None
        self._world.outage.end()

    # --- reading -----------------------------------------------------------------------------------------------------

    def _settle(self, topics: tuple[int, ...]) -> object:
        """Poll until all partitions of the topics are assigned, and read what is there."""
        held = self._await_shares(topics)
        return Said("not settled") if held is None else (*sorted(map(len, held)), self._drain("poll"))

    def _await_shares(self, topics: tuple[int, ...]) -> list[set[Partition]] | None:
        """Poll until all partitions of the topics are assigned, to the second consumer too if there is one; None if they are not."""
        wanted = {(topic, number) for topic in topics for number in range(self._program.topics[topic])}
        deadline = time.monotonic() + _SETTLED_S
        while time.monotonic() < deadline:
            for consumer in filter(None, (self._consumer, self._second)):
                self._note(consumer.poll(0.05))
            held = [self._held_by(consumer) for consumer in (self._consumer, self._second) if consumer is not None]
            if (
                set().union(*held) == wanted
                and sum(map(len, held)) == len(wanted)
                and (len(wanted) < len(held) or all(held))
            ):
                self._start_at(held[0])
                return held
        return None

    def _held_by(self, consumer: Any) -> set[Partition]:
        return {(self._names[place.topic], place.partition) for place in consumer.assignment()}

    def _start_at(self, held: set[Partition]) -> None:
        committed = self._committed_outside()
        for place in self._next.keys() - held:
            del self._next[place]
        for place in held - self._next.keys():
            self._next[place] = committed.get(place, (0, ""))[0]

    def _note(self, *messages: Message | None) -> None:
        for message in filter(None, messages):
            if message.error() is None:
                place = (self._names[message.topic() or ""], message.partition() or 0)
                self._delivered[place].append(message.offset() or 0)
                self._came.append(message)
                self._move_on([message])
            self._story.append(returned(message, self._names))

    def _read(self, place: Place, count: int, how: str) -> object:
        """Read `count` records of one partition, with all others paused."""
        key = (place.topic, place.partition)
        others = sorted(self._next.keys() - {key} - self._paused)
        if key in self._paused or key not in self._next:
            return Said("not read")
        with self._pausing(others):
            return self._read_up_to({key: min(self._from(key) + count, self._ends[key])}, how)

    @contextlib.contextmanager
    def _pausing(self, keys: list[Partition]) -> Iterator[None]:
        places = [self._at(Place(*key)) for key in keys]
        if places:
            self._consumer.pause(places)
        yield
        if places:
            self._consumer.resume(places)

    def _from(self, key: Partition) -> int:
        """An offset that does not exist is reset to the earliest."""
        at = self._next[key]
        return 0 if at > self._ends[key] else at

    def _drain(self, how: str) -> object:
        """Read all records that are there."""
        if self._second is not None:
            return self._drain_both()
        return self._read_up_to({key: self._ends[key] for key in self._next.keys() - self._paused}, how)

    def _drain_both(self) -> object:
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            for consumer in (self._consumer, self._second):
                self._note(consumer.poll(0.05))
            if all(self._ends[key] <= 1 + max(self._delivered[key], default=-1) for key in self._shared()):
                return Said("all")
        return Said("not all")

    def _shared(self) -> set[Partition]:
        return self._held_by(self._consumer) | self._held_by(self._second)

    def _read_up_to(self, ends: dict[Partition, int], how: str) -> object:
        """Note the records by partition, because the broker decides which partition comes first."""
        came: list[Message] = []
        deadline, quiet, left = time.monotonic() + _PATIENCE_S, 0, 0
        while quiet < _QUIET_POLLS and time.monotonic() < deadline:
            if self._subscribed and not ends.keys() <= self._next.keys():  # They went in a rebalance, and come back.
                self._start_at(self._held_by(self._consumer))
            left = sum(max(0, end - self._from(key)) if key in self._next else 1 for key, end in ends.items())
            quiet += not left
            messages = (
                self._consumer.consume(max(1, left), 0.2)
                if how == "consume"
                else [self._consumer.poll(0.1 if left else 0.03)]
            )
            came += filter(None, messages)
            self._move_on(messages)
        self._note(*came)
        self._story.sort(key=_by_partition)
        return Said("read" if quiet == _QUIET_POLLS else f"{left} did not come")

    def _move_on(self, messages: list[Message | None]) -> None:
        for message in filter(None, messages):
            if message.error() is None:
                self._next[self._names[message.topic() or ""], message.partition() or 0] = (message.offset() or 0) + 1

    def _poll_nothing(self) -> object:
        return self._consumer.poll(0.05)

    def _consume_nothing(self) -> object:
        return self._consumer.consume(1, 0.05)

    # --- the calls ---------------------------------------------------------------------------------------------------

    def _at(self, place: Place) -> TopicPartition:
        if place.metadata is not None:
            return TopicPartition(self._topics[place.topic], place.partition, place.offset, place.metadata)
        return TopicPartition(self._topics[place.topic], place.partition, place.offset)

    def _places(self, places: tuple[Place, ...]) -> list[TopicPartition]:
        return [self._at(place) for place in places]

    def _subscribe(self, topics: tuple[int, ...], how: str) -> object:
        names = [f"^{self._prefix}-[0-9]"] if how == "pattern" else [self._topics[number] for number in topics]
        hooks = {f"on_{kind}": self._hook(kind) for kind in ("assign", "revoke", "lost")} if how == "callbacks" else {}
        self._resume_all()
        if self._subscribed:
            self._end_reading()
        self._wanted = topics
        outcome = self._consumer.subscribe(names, **hooks)
        if dict(self._program.config).get("partition.assignment.strategy") in {"range", "roundrobin"}:
            self._forget(list(self._next))  # An eager member gives all back, and starts at what is committed.
        self._subscribed = True
        return outcome

    def _end_reading(self) -> None:
        """Read all records first: none may come while confluent-kafka gives partitions back."""
        if not self._closed:
            self._resume_all()
            if not self._program.exact:  # The rebalance after a second consumer may still be under way.
                self._await_shares(self._wanted)
            self._drain("poll")

    def _resume_all(self) -> None:
        """Before an assignment ends, which in confluent-kafka does not always end a pause."""
        if self._paused:
            self._resume(tuple(Place(*key) for key in self._paused))

    def _hook(self, kind: str) -> Callable[[Any, list[TopicPartition]], None]:
        def hook(_: Any, places: list[TopicPartition]) -> None:
            keys = sorted((self._names[place.topic], place.partition) for place in places)
            if kind != "assign":
                self._forget(keys)
            if keys:
                self._story.append((kind, *keys))

        return hook

    def _forget(self, keys: list[Partition]) -> None:
        for key in keys:
            self._next.pop(key, None)
            self._paused.discard(key)

    def _unsubscribe(self) -> object:
        if not self._subscribed:
            return self._consumer.unsubscribe()
        self._end_reading()
        outcome = self._consumer.unsubscribe()
        self._subscribed = False
        deadline = time.monotonic() + _PATIENCE_S
        while self._consumer.assignment() and time.monotonic() < deadline:
            self._note(
                self._consumer.poll(0.05)
            )  # confluent-kafka gives partitions back, and calls on_revoke, in poll().
        self._forget(list(self._next))
        return outcome

    def _assign(self, places: tuple[Place, ...]) -> None:
        self._resume_all()
        self._consumer.assign(self._places(places))
        self._forget(list(self._next))
        self._begin_at(places)

    def _incremental_assign(self, places: tuple[Place, ...]) -> None:
        self._consumer.incremental_assign(self._places(places))
        self._begin_at(places)

    def _begin_at(self, places: tuple[Place, ...]) -> None:
        for place in places:
            if place.offset >= 0 or place.offset == OFFSET_BEGINNING:
                self._next[place.topic, place.partition] = max(0, place.offset)
        self._start_at({*self._next, *((place.topic, place.partition) for place in places)})

    def _unassign(self) -> None:
        self._resume_all()
        self._consumer.unassign()
        self._forget(list(self._next))

    def _incremental_unassign(self, places: tuple[Place, ...]) -> None:
        self._resume_all()
        self._consumer.incremental_unassign(self._places(places))
        self._forget([(place.topic, place.partition) for place in places])

    def _seek(self, place: Place) -> object:
        """Librdkafka refuses it until it fetches the partition, which a program cannot wait for."""
        key = (place.topic, place.partition)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._consumer.seek(self._at(place))
            except KafkaException as error:
                if error.args[0].code() != KafkaError._STATE or key not in self._next or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                self._next[key] = max(0, place.offset)
                return None

    def _pause(self, places: tuple[Place, ...]) -> object:
        listed = self._places(places)
        self._consumer.pause(listed)
        self._paused |= {(place.topic, place.partition) for place in places}
        return listed

    def _resume(self, places: tuple[Place, ...]) -> object:
        listed = self._places(places)
        self._consumer.resume(listed)
        self._paused -= {(place.topic, place.partition) for place in places}
        return listed

    def _commit(self, how: str, places: tuple[Place, ...]) -> object:
        given: dict[str, Any] = {}
        if how.startswith("offsets"):
            given["offsets"] = self._places(places)
        elif how.startswith("message"):
            given["message"] = self._last
        if not how.endswith("async"):
            return sorted(self._consumer.commit(**given, asynchronous=False), key=str)
        self._reports.clear()
        outcome = self._consumer.commit(**given)
        self._await_report()
        return outcome

    def _await_report(self) -> None:
        """on_commit is called inside poll(): with everything paused, no record comes meanwhile."""
        if self._program.config_of("enable.auto.commit"):
            return
        deadline = time.monotonic() + _PATIENCE_S
        with self._pausing(sorted(self._next.keys() - self._paused)):
            while not self._reports and time.monotonic() < deadline:
                self._note(self._consumer.poll(0.05))
        self._story += self._reports

    def _on_commit(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        self._reports.append((None if error is None else error.name(), returned(sorted(places, key=str), self._names)))

    def _store_offsets(self, how: str, places: tuple[Place, ...]) -> object:
        if how == "message":
            return self._consumer.store_offsets(message=self._last)
        return self._consumer.store_offsets(offsets=self._places(places))

    def _position(self, places: tuple[Place, ...]) -> object:
        return self._consumer.position(self._places(places))

    def _committed(self, places: tuple[Place, ...]) -> object:
        return self._consumer.committed(self._places(places), timeout=20)

    def _offsets_for_times(self, places: tuple[Place, ...]) -> object:
        return self._consumer.offsets_for_times(self._places(places), timeout=20)

    def _get_watermark_offsets(self, place: Place) -> object:
        return self._consumer.get_watermark_offsets(self._at(place), timeout=20)

    def _assignment(self) -> object:
        return sorted(((p.topic, p.partition) for p in self._consumer.assignment()), key=str) and sorted(
            self._held_by(self._consumer)
        )

    def _memberid(self) -> object:
        return self._consumer.memberid()

    def _consumer_group_metadata(self) -> object:
        return self._consumer.consumer_group_metadata()

    def _list_topics(self) -> object:
        return self._consumer.list_topics(timeout=20)

    def _wrong(self, name: str) -> object:
        return WRONG_CALLS[name](self._consumer, self._topics[0])

    def _close(self) -> None:
        self._closed = True
        self._consumer.close()

    # --- the second consumer -----------------------------------------------------------------------------------------

    def _second_joins(self, topics: tuple[int, ...]) -> object:
        self._second = self._library(self._config())
        self._second.subscribe([self._topics[number] for number in topics])
        return self._settle(topics)

    def _second_leaves(self, topics: tuple[int, ...]) -> object:
        self._second.close()
        self._second = None
        return self._settle(topics)


def _by_partition(entry: object) -> tuple[str, ...]:
    """Callbacks stay in their order, before all records; records stay in the order of their partition."""
    kind, *rest = entry if isinstance(entry, tuple) else (entry,)
    return tuple(map(str, ("record", *rest[:2]))) if kind == "record" else ("callback",)


def _order_of(message: Message) -> tuple[str, int, int]:
    return message.topic() or "", message.partition() or 0, message.offset() or 0
