"""The faults that a test can cause on an embedded cluster, and how members react."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from membership_client import ConfigError, MemberState
from membership_client.core.error_codes import Code
from membership_client.testing import EmbeddedKafka, ForkedKafkaError
from membership_client.types import TopicPartition
from tests.testing.embedded_groups import PATIENCE_S, QUICK, Heard, member

PROTOCOLS = ["consumer", "classic"]
ALL = frozenset(TopicPartition("orders", number) for number in range(4))


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 4}, settings=QUICK) as cluster:
        yield cluster


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("how", ["fence", "expire_session"])
def test_a_removed_member_loses_its_partitions_and_comes_back(embedded: EmbeddedKafka, protocol: str, how: str) -> None:
    """Its lost callback runs, and it owns the partitions again after its next join."""
    heard = Heard()
    with member(embedded, protocol, heard) as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        getattr(embedded, how)(one.snapshot.member_id)
        embedded.wait_for(lambda: heard.calls[1:3] == [("lost", ALL), ("assigned", ALL)], PATIENCE_S)
        assert ("revoked", ALL) not in heard.calls


def test_a_member_is_found_by_its_instance_id(embedded: EmbeddedKafka) -> None:
    """A member that does not exist is a LookupError."""
    with member(embedded, "consumer", Heard(), group_instance_id="one") as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        embedded.expire_session("one", group="shop")
        assert embedded.describe("shop").members == ()
    with pytest.raises(LookupError, match="0 members of any group are called 'two'"):
        embedded.fence("two")


def test_sessions_end_when_the_clock_jumps(embedded: EmbeddedKafka) -> None:
    """A member that sends no heartbeat in that time is removed; a paused member sends none."""
    with member(embedded, "consumer", Heard()) as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        before = one.snapshot.epoch
        embedded.advance(46)
        one.wait_until(lambda s: s.state is MemberState.STABLE and s.owned == ALL and s.epoch != before, PATIENCE_S)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_coordinator_moves(protocol: str) -> None:
    """The member finds it again, and keeps its partitions."""
    heard = Heard()
    with EmbeddedKafka(3, topics={"orders": 4}, settings=QUICK) as embedded, member(embedded, protocol, heard) as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        searches = embedded.requests("FindCoordinator")
        embedded.move_coordinator(loading_s=0.1)
        embedded.wait_for(lambda: embedded.requests("FindCoordinator") > searches, PATIENCE_S)
        one.wait_until(lambda snapshot: snapshot.state is MemberState.STABLE, PATIENCE_S)
        one.commit({TopicPartition("orders", 0): 1})
        assert [kind for kind, _ in heard.calls] == ["assigned"]


def test_a_commit_is_refused_and_tried_again(embedded: EmbeddedKafka) -> None:
    """Each partition of the request gets the code, for the given number of requests."""
    with member(embedded, "consumer", Heard()) as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        embedded.refuse("OffsetCommit", Code.COORDINATOR_LOAD_IN_PROGRESS, times=2)
        one.commit({TopicPartition("orders", 0): 7})
        assert embedded.committed("shop") == {TopicPartition("orders", 0): 7}
        assert embedded.requests("OffsetCommit") == 3


def test_a_lost_answer_is_asked_for_again(embedded: EmbeddedKafka) -> None:
    """The commit was carried out before the connection ended."""
    with member(embedded, "consumer", Heard()) as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        embedded.lose_answer("OffsetCommit")
        one.commit({TopicPartition("orders", 0): 7})
        assert embedded.requests("OffsetCommit") == 2


def test_answers_are_delayed(embedded: EmbeddedKafka) -> None:
    """Metadata takes the given time, by the clock of the cluster."""
    embedded.delay("Metadata", 3600)
    done = threading.Event()

    def ask() -> None:
        AdminClient({"bootstrap.servers": embedded.bootstrap_servers, "log_level": 0}).list_topics(timeout=PATIENCE_S)
        done.set()

    thread = threading.Thread(target=ask)
    thread.start()
    embedded.wait_for(lambda: embedded.requests("Metadata"), PATIENCE_S)
    assert not done.wait(0.2)
    embedded.delay("Metadata", 0)
    embedded.advance(3600)
    assert done.wait(PATIENCE_S)
    thread.join()


def test_brokers_that_are_paused_say_nothing(embedded: EmbeddedKafka) -> None:
    """The system accepts the connection, and the request is answered when the brokers go on."""
    embedded.pause()
    producer = Producer({"bootstrap.servers": embedded.bootstrap_servers, "log_level": 0})
    producer.produce("orders", "x")
    assert producer.flush(0.3) == 1
    assert embedded.requests("Produce") == 0
    embedded.resume()
    assert producer.flush(PATIENCE_S) == 0


def test_connections_end_and_are_made_again(embedded: EmbeddedKafka) -> None:
    """A member that is disconnected connects again, and is not affected otherwise."""
    heard = Heard()
    with member(embedded, "consumer", heard) as one:
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        seen = embedded.requests("ConsumerGroupHeartbeat")
        embedded.disconnect()
        embedded.wait_for(lambda: embedded.requests("ConsumerGroupHeartbeat") > seen + 1, PATIENCE_S)
        assert [kind for kind, _ in heard.calls] == ["assigned"]


def test_topics_grow_and_go(embedded: EmbeddedKafka) -> None:
    """The group follows."""
    embedded.create_topic("more")
    with member(embedded, "consumer", Heard(), topics=["orders", "more"]) as one:
        one.wait_until(lambda snapshot: len(snapshot.owned) == 5, PATIENCE_S)
        embedded.add_partitions("more", 3)
        one.wait_until(lambda snapshot: len(snapshot.owned) == 7, PATIENCE_S)
        embedded.delete_topic("more")
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
    with pytest.raises(ConfigError, match="already exists"):
        embedded.create_topic("orders")
    with pytest.raises(LookupError):
        embedded.end_offsets("more")


def test_a_condition_that_does_not_come_true(embedded: EmbeddedKafka) -> None:
    """This is a TimeoutError, even if the condition raises LookupError."""
    with pytest.raises(TimeoutError, match=r"0.05 s"):
        embedded.wait_for(lambda: embedded.describe("nothing"), 0.05)


def test_a_condition_of_a_cluster_that_is_stopped(embedded: EmbeddedKafka) -> None:
    """The wait ends, because the condition cannot come true any more; it once went on until its timeout."""
    at_work = threading.Event()

    def stop() -> None:
        at_work.wait()
        embedded.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.raises(RuntimeError, match="does not run"):
        embedded.wait_for(at_work.set, PATIENCE_S)
    stopping.join()


@pytest.mark.parametrize("partitions", [0, 10_001])
def test_new_topics_have_a_size_that_a_process_can_hold(partitions: int) -> None:
    """A topic that was created automatically once took the memory of ten million partitions."""
    with pytest.raises(ConfigError, match=r"num\.partitions is a whole number from 1 to 10000"):
        EmbeddedKafka(settings={"num.partitions": partitions})


def test_what_is_not_kafka_is_disconnected(embedded: EmbeddedKafka) -> None:
    """Other clients are served as before."""
    host, port = embedded.bootstrap_servers.split(":")
    for octets in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x08\x7f\xff\0\0\0\0\0\0", b"\0\0\0\x05\0\x12\0\0x"):
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
            connection.sendall(octets)
            assert connection.recv(100) == b""
    assert AdminClient({"bootstrap.servers": embedded.bootstrap_servers}).list_topics(timeout=PATIENCE_S).topics


def test_without_a_start_there_is_a_sentence() -> None:
    with pytest.raises(RuntimeError, match=r"does not run: use it in a `with` statement"):
        EmbeddedKafka().describe("shop")


def in_child(action: Callable[[], None]) -> None:
    """Run the function in a forked child, which must succeed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_forked_child_does_not_control_the_parents_brokers(embedded: EmbeddedKafka) -> None:
    """Its methods once acted on a dead copy. Clients in the child reach the parent's brokers."""

    def child() -> None:
        with pytest.raises(ForkedKafkaError, match="belongs to the parent process"):
            embedded.create_topic("mine")
        with pytest.raises(ForkedKafkaError):
            embedded.start()
        embedded.stop()
        host, _, port = embedded.bootstrap_servers.rpartition(":")
        socket.create_connection((host, int(port))).close()

    in_child(child)
    embedded.create_topic("ours")


def test_a_forked_child_does_not_keep_the_ports() -> None:
    """A stopped cluster once accepted connections for as long as a child lived, and answered none."""
    with EmbeddedKafka() as kafka:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        (reader, writer), (told, tell) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell, b"forked")
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
        os.read(told, 6)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
    for end in (reader, writer, told, tell):
        os.close(end)
    os.waitpid(child, 0)


def test_a_wait_ends_when_the_cluster_is_stopped(embedded: EmbeddedKafka) -> None:
    """It once went on until its timeout."""
    threading.Timer(0.1, embedded.stop).start()
    with pytest.raises(RuntimeError, match="does not run"):
        embedded.wait_for(lambda: False, 100.0)


def test_more_partitions_than_a_topic_can_have_are_refused() -> None:
    """They were once accepted, and automatic topics failed later."""
    for count in (0, 10_001):
        with pytest.raises(ConfigError, match=r"num\.partitions is a whole number from 1 to 10000"):
            EmbeddedKafka(settings={"num.partitions": count})


def test_clients_see_the_racks_of_brokers() -> None:
    """The metadata has one rack for each broker."""
    with EmbeddedKafka(2, racks=["east", "west"]) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        found = admin.describe_cluster().result(PATIENCE_S)
        assert sorted(node.rack for node in found.nodes) == ["east", "west"]
    with pytest.raises(ConfigError, match="2 racks for 1 broker"):
        EmbeddedKafka(racks=["east", "west"])
