"""`EmbeddedKafka`: a Kafka cluster in this process, for tests and demonstrations, with methods that cause faults."""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Self, TypeVar

from membership_client.arguments import (
    checked_choice,
    checked_function,
    checked_mapping,
    checked_seconds,
    checked_text,
    checked_topic,
    checked_whole,
    optional,
)
from membership_client.core.error_codes import Code
from membership_client.errors import ConfigError
from membership_client.testing.arguments import checked_brokers, checked_racks, checked_settings
from membership_client.testing.described import GroupDescription
from membership_client.testing.embedded.apis import API_NAMES
from membership_client.testing.embedded.broker import Brokers
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.server import Server
from membership_client.testing.embedded.settings import BrokerSettings
from membership_client.testing.embedded.topics import MOST_PARTITIONS, TopicRefusedError
from membership_client.testing.fake_topics import FakeTopic
from membership_client.types import Node, TopicPartition

T = TypeVar("T")

_LOOK_AGAIN_S = 0.05
"""`wait_for` looks at a condition at least this often, because the condition may not depend on the brokers alone."""


class ForkedKafkaError(RuntimeError):
    """An `EmbeddedKafka` was used in a forked child. Its thread and its brokers belong to the parent process."""


class EmbeddedKafka:
    """Kafka brokers in pure Python on 127.0.0.1, ready at once, served by one thread of this process.

        with EmbeddedKafka(topics={"orders": 6}) as kafka:
            with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "shop"}) as consumer:
                consumer.subscribe(["orders"])

    Clients of any library and any process may connect. Groups behave like those of Kafka 4.3: this project's tests compare the
    coordinator with a real broker. Records are in memory; if they exceed 256 MiB, the oldest are deleted.

    In a forked child the brokers belong to the parent: clients may use `bootstrap_servers` there, `stop()` does nothing, and
    all other methods raise ForkedKafkaError.

    `racks` are the brokers' racks in their order. `settings` are server properties, such as
    `{"group.consumer.session.timeout.ms": 10_000}`. Any thread may call any method between `start()` and `stop()`. A change is
    in force when its method returns. A `member` is a member id or an instance id; an `api` is Kafka's name of a request, such
    as "OffsetCommit".
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        topics: Mapping[str, int] | None = None,
        settings: Mapping[str, str | int] | None = None,
        racks: Sequence[str] = (),
    ) -> None:
        self._size = checked_brokers(brokers)
        self._topics = _checked_topics(topics)
        self._settings = BrokerSettings.of(checked_settings(settings))
        self._racks = checked_racks(racks)
        if len(self._racks) > self._size:
            raise ConfigError(
                f"There are {len(self._racks)} racks for {self._size} broker(s): name one for each broker."
            )
        self._ahead_s = 0.0
        self._nodes: tuple[Node, ...] = ()
        self._running: tuple[Server, Brokers] | None = None
        self._switching = threading.Lock()
        """Held by `start()` and `stop()`, so that two threads cannot start the cluster twice."""
        self._is_forked = False
        _clusters.add(self)

    # --- starting and stopping ---------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, as the value of bootstrap.servers."""
        return ",".join(f"{node.host}:{node.port}" for node in self._nodes)

    def start(self) -> None:
        """Starts the brokers, without records and groups of an earlier start. On return they answer."""
        self._check_process()
        with self._switching:
            self._start()

    def _start(self) -> None:
        if self._running is not None:
            raise RuntimeError("The embedded cluster runs already.")
        listeners = {number: _listen() for number in range(1, self._size + 1)}
        self._nodes = tuple(Node("127.0.0.1", sock.getsockname()[1], number) for number, sock in listeners.items())
        cluster = Cluster(self._nodes, self._settings, self._racks)
        for name, partitions in self._topics.items():
            cluster.topics.create(name, partitions)
        brokers = Brokers(cluster)
        server = Server(listeners, brokers, self._clock)
        self._running = server, brokers
        server.start()

    def stop(self) -> None:
        """Closes all connections and ends the thread; does nothing if the cluster does not run."""
        with self._switching:
            if self._running is not None:
                self._running[0].stop()
                self._running = None

    def _after_fork(self) -> None:
        """In a forked child: close its copies of the sockets, which would occupy the ports after the parent has stopped."""
        running, self._running = self._running, None
        self._is_forked, self._switching = True, threading.Lock()
        if running is not None:
            running[0].abandon()

    def _check_process(self) -> None:
        if self._is_forked:
            raise ForkedKafkaError(
                "This embedded cluster belongs to the parent process: make another one here, or control it there."
            )

    def _clock(self) -> float:
        return time.monotonic() + self._ahead_s

    def _parts(self) -> tuple[Server, Brokers]:
        self._check_process()
        if self._running is None:
            raise RuntimeError("The embedded cluster does not run: use it in a `with` statement, or call start().")
        return self._running

    # --- topics ------------------------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Creates the topic. Raises ConfigError if it exists already, or an argument is not legal."""
        topics = _checked_topics({checked_topic("name", name): partitions})
        self._change(lambda brokers, _now: _create(brokers, topics))

    def add_partitions(self, name: str, total: int) -> None:
        """Grows the topic to `total` partitions. Raises ConfigError if it has that many already, or does not exist."""
        topic, count = checked_topic("name", name), checked_whole("total", total, least=1)
        self._change(lambda brokers, _now: _grow(brokers, topic, count))

    def delete_topic(self, name: str) -> None:
        """Deletes the topic, its records, and the offsets that groups committed for it. LookupError if it does not exist."""
        topic = checked_topic("name", name)
        self._change(lambda brokers, _now: _delete(brokers, topic))

    def end_offsets(self, topic: str) -> dict[TopicPartition, int]:
        """For each partition the offset of the next record. Raises LookupError if there is no such topic."""
        name = checked_topic("topic", topic)
        return self._look(lambda brokers: _end_offsets(brokers, name))

    # --- groups ------------------------------------------------------------------------------------------------------

    def describe(self, group: str) -> GroupDescription:
        """The coordinator's view of a group of either protocol. Raises LookupError if there is no such group."""
        group_id = checked_text("group", group)
        return self._look(lambda brokers: brokers.cluster.groups.describe(group_id))

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The offsets that the group has committed; empty if there is no such group."""
        group_id = checked_text("group", group)
        return self._look(lambda brokers: {p: one.offset for p, one in brokers.cluster.offsets.of(group_id).items()})

    def log(self) -> list[str]:
        """The coordinator's log: rebalances, removed members, and the reasons of leaves. The newest line is the last."""
        return self._look(lambda brokers: brokers.cluster.groups.log())

    def requests(self, api: str) -> int:
        """The number of requests of that kind so far."""
        name = _checked_api(api)
        return self._look(lambda brokers: brokers.handled[name])

    def wait_for(self, condition: Callable[[], object], timeout_s: float = 30.0) -> None:
        """Waits until `condition()` is true. It is called on this thread, whenever the brokers have done something.

            kafka.wait_for(lambda: kafka.describe("shop").state == "Stable")

        If the condition raises LookupError, it counts as not true yet. Raises TimeoutError after `timeout_s`, and RuntimeError if
        the cluster is stopped.
        """
        checked_function("condition", condition, "nothing")
        ends_at = time.monotonic() + checked_seconds("timeout_s", timeout_s)
        while True:
            server, _ = self._parts()
            seen = server.rounds
            if is_true(condition):
                return
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"The condition was not true within {timeout_s:g} s.")
            server.await_round(seen, min(left_s, _LOOK_AGAIN_S))

    # --- faults ------------------------------------------------------------------------------------------------------

    def fence(self, member: str, *, group: str | None = None) -> None:
        """The coordinator removes the member, and its next heartbeat gets FENCED_MEMBER_EPOCH (classic: ILLEGAL_GENERATION).

        Raises LookupError if no group has such a member, or if several have, and `group` is not given.
        """
        self._expel(member, group, "it was fenced by the test", is_fence=True)

    def expire_session(self, member: str, *, group: str | None = None) -> None:
        """The coordinator removes the member as if its session had ended: its next heartbeat gets UNKNOWN_MEMBER_ID.

        Raises LookupError as `fence` does.
        """
        self._expel(member, group, "its session expired", is_fence=False)

    def _expel(self, member: str, group: str | None, why: str, *, is_fence: bool) -> None:
        who, where = checked_text("member", member), optional(checked_text, "group", group)

        def expel(brokers: Brokers, now: float) -> None:
            groups = brokers.cluster.groups
            group_id, member_id = _find_member(brokers, who, where)
            is_consumer = groups.consumer(group_id) is not None
            groups.expel(group_id, member_id, now, why)
            if is_fence:
                code = Code.FENCED_MEMBER_EPOCH if is_consumer else Code.ILLEGAL_GENERATION
                groups.fenced[group_id, member_id] = code

        self._change(expel)

    def move_coordinator(self, loading_s: float = 0.5) -> None:
        """The next broker becomes the coordinator of all groups and transactions, after it has loaded them for `loading_s`.

        The old one answers NOT_COORDINATOR, also to waiting joins; the new one answers COORDINATOR_LOAD_IN_PROGRESS while it
        loads. If there is only one broker, it loads again. Afterwards all members have their full sessions.
        """
        loading = checked_seconds("loading_s", loading_s)

        def move(brokers: Brokers, now: float) -> None:
            cluster = brokers.cluster
            following = cluster.nodes[cluster.coordinator.node_id % len(cluster.nodes)]
            cluster.move_coordinator(following, now, loading)

        self._change(move)

    def lose_answer(self, api: str, times: int = 1) -> None:
        """The next requests of that kind are handled, but their connections end before they are answered."""
        name, count = _checked_api(api), checked_whole("times", times, least=1)

        def lose(brokers: Brokers, _now: float) -> None:
            brokers.faults.lost[name] += count

        self._change(lose)

    def delay(self, api: str, seconds: float) -> None:
        """From now on, requests of that kind are answered this many seconds later; 0 ends the delay.

        As with a real broker, later requests on the same connection wait, too.
        """
        name, delay_s = _checked_api(api), checked_seconds("seconds", seconds)

        def hold(brokers: Brokers, _now: float) -> None:
            brokers.faults.delays_s[name] = delay_s

        self._change(hold)

    def refuse(self, api: str, code: int, times: int = 1) -> None:
        """The next requests of that kind are not handled, but answered with that error code.

        If Kafka answers the request with a code for each topic or partition, each of them gets it.
        """
        name, count = _checked_api(api), checked_whole("times", times, least=1)
        number = checked_whole("code", code, least=-1, most=2**15 - 1)
        if number == 0:
            raise ConfigError("code must be an error code, not 0, which means no error.")

        def arm(brokers: Brokers, _now: float) -> None:
            brokers.faults.codes[name].append((number, count))

        self._change(arm)

    def pause(self) -> None:
        """The brokers do nothing until `resume()`, like processes that are stopped by a signal.

        Connections stay open, and nothing is read or answered. Time goes on meanwhile.
        """
        server, _ = self._parts()
        with server.changed:
            server.is_paused = True

    def resume(self) -> None:
        """Ends `pause()`."""
        server, _ = self._parts()
        with server.changed:
            server.is_paused = False
            server.changed.notify_all()

    def disconnect(self) -> None:
        """Ends the connections of all clients. They may connect again at once."""
        server, _ = self._parts()
        with server.changed:
            server.disconnect_all()

    def advance(self, seconds: float) -> None:
        """Moves the brokers' clock ahead. If a member's session ends in that time, it is removed."""
        ahead_s = checked_seconds("seconds", seconds)

        def jump(brokers: Brokers, _now: float) -> None:
            self._ahead_s += ahead_s
            brokers.advance(self._clock())

        self._change(jump)

    # --- with the lock -----------------------------------------------------------------------------------------------

    def _change(self, action: Callable[[Brokers, float], None]) -> None:
        server, brokers = self._parts()
        with server.changed:
            action(brokers, self._clock())
            server.rounds += 1
            server.changed.notify_all()
        server.wake()

    def _look(self, question: Callable[[Brokers], T]) -> T:
        server, brokers = self._parts()
        with server.changed:
            return question(brokers)


_clusters: weakref.WeakSet[EmbeddedKafka] = weakref.WeakSet()


def _abandon_in_forked_child() -> None:
    for kafka in tuple(_clusters):
        kafka._after_fork()  # noqa: SLF001 - not for users, and this module is its only caller


os.register_at_fork(after_in_child=_abandon_in_forked_child)


def _listen() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    listener.setblocking(False)
    return listener


def _checked_topics(value: object) -> dict[str, int]:
    given = optional(checked_mapping, "topics", value) or {}
    return {
        checked_topic("The name of a topic", name): checked_whole(
            f"Partitions of topic {name}", count, least=1, most=MOST_PARTITIONS
        )
        for name, count in given.items()
    }


def _checked_api(value: object) -> str:
    return checked_choice("api", value, sorted(API_NAMES))


def is_true(condition: Callable[[], object]) -> bool:
    """Whether the condition is true. If it raises LookupError, it counts as not true yet."""
    try:
        return bool(condition())
    except LookupError:
        return False


def _create(brokers: Brokers, topics: Mapping[str, int]) -> None:
    for name, partitions in topics.items():
        try:
            brokers.cluster.topics.create(name, partitions)
        except TopicRefusedError as error:
            raise ConfigError(f"Topic {name} cannot be created: {error.message}") from None


def _grow(brokers: Brokers, name: str, total: int) -> None:
    try:
        brokers.cluster.topics.grow(name, total)
    except TopicRefusedError as error:
        raise ConfigError(f"Topic {name} cannot have {total} partitions: {error.message}") from None


def _delete(brokers: Brokers, name: str) -> None:
    _find_topic(brokers, name)
    brokers.cluster.delete_topic(name)


def _find_topic(brokers: Brokers, name: str) -> FakeTopic:
    topic = brokers.cluster.topics.find(name)
    if topic is None:
        raise LookupError(f"There is no topic {name!r}.")
    return topic


def _end_offsets(brokers: Brokers, name: str) -> dict[TopicPartition, int]:
    topic = _find_topic(brokers, name)
    logs = [brokers.cluster.topics.log(topic, number) for number in range(topic.partitions)]
    return {TopicPartition(name, number): log.end for number, log in enumerate(logs) if log is not None}


def _find_member(brokers: Brokers, member: str, group: str | None) -> tuple[str, str]:
    """Group and member id of the member. LookupError unless there is exactly one."""
    groups = brokers.cluster.groups
    wanted = sorted(groups.ids()) if group is None else [group]
    found = [
        (group_id, each.member_id)
        for group_id in wanted
        for each in groups.describe(group_id).members
        if member in {each.member_id, each.instance_id}
    ]
    if len(found) != 1:
        where = "any group" if group is None else f"group {group}"
        raise LookupError(
            f"{len(found)} members of {where} are called {member!r}; there must be one. Groups: {wanted}."
        )
    return found[0]
