"""The keeper and its process on a real broker: stopped, killed, forked, ended; groups that rebalance meanwhile; every way in."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from membership_client import GroupMember, MemberState
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.keeper.holding import PATIENCE_S, THEN_POLL, children, holding, is_alive, wait
from tests.security.secure_kafka import SecureKafka, secure_kafka

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SESSION_S = 6
PROTOCOLS = ["consumer", "classic"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    settings = {
        "group.consumer.min.session.timeout.ms": SESSION_S * 1000,
        "group.consumer.session.timeout.ms": SESSION_S * 1000,
        "group.consumer.min.heartbeat.interval.ms": 1000,
        "group.consumer.heartbeat.interval.ms": 1000,
    }
    with KafkaCluster(settings=settings) as started:
        yield started


@pytest.fixture
def topic(cluster: KafkaCluster) -> str:
    name = f"held-{uuid.uuid4().hex[:8]}"
    ClusterAdmin(cluster.bootstrap_servers).create_topic(name, 2)
    return name


def config(cluster: KafkaCluster, protocol: str, topic: str, **more: object) -> dict[str, Any]:
    """The configuration of a member of the group that has the name of the topic."""
    classic = {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 1000} if protocol == "classic" else {}
    dotted = {key.replace("_", "."): value for key, value in more.items()}
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": topic, "group.protocol": protocol}
    return {**servers, "heartbeat.keeper": "process", **classic, **dotted}


def changes(said: list[list[Any]]) -> list[str]:
    return [kind for kind, *_ in said]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stopped_process_is_not_kept(protocol: str, cluster: KafkaCluster, topic: str) -> None:
    """This holds also during a hold: its session ends, and it learns that before it reads on."""
    with holding(config(cluster, protocol, topic), topic, 3 * SESSION_S) as holder:
        holder.wait_for("holds")
        holder.signal(signal.SIGSTOP)
        with GroupMember(config(cluster, protocol, topic, heartbeat_keeper="off")) as other:
            other.subscribe([topic])
            other.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)
        holder.signal(signal.SIGCONT)
        holder.wait_for("free")
        assert changes(holder.wait_for("polled"))[0] == "lost"


def test_the_keeper_ends_with_its_process(cluster: KafkaCluster, topic: str) -> None:
    """The process is killed during a hold, and the group notices at the end of the session."""
    with holding(config(cluster, "consumer", topic), topic, 600) as holder:
        holder.wait_for("holds")
        keeper = holder.keeper()
        holder.signal(signal.SIGKILL)
        wait(lambda: not is_alive(keeper), "end of the keeper")
        with GroupMember(config(cluster, "consumer", topic, heartbeat_keeper="off")) as other:
            other.subscribe([topic])
            other.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)


@pytest.mark.parametrize("how", ["consumer.close()", "", "import os; os._exit(0)"], ids=["close", "end", "os-exit"])
def test_the_keeper_ends_with_the_interpreter(how: str, cluster: KafkaCluster, topic: str) -> None:
    """This holds for every way in which the interpreter ends."""
    with holding(config(cluster, "consumer", topic), topic, 1, then=how) as holder:
        holder.wait_for("holds")
        keeper = holder.keeper()
        assert holder.wait() == 0
        wait(lambda: not is_alive(keeper), "end of the keeper")


def test_a_killed_keeper_is_replaced(cluster: KafkaCluster, topic: str) -> None:
    """The member goes on without it, and has another keeper for its next hold."""
    then = f"""
consumer.poll(15)
say("again")
ctypes.PyDLL(None).sleep(2 * {SESSION_S})
{THEN_POLL}
"""
    with holding(config(cluster, "consumer", topic), topic, 1, then=then) as holder:
        holder.wait_for("holds")
        os.kill(first := holder.keeper(), signal.SIGKILL)
        wait(lambda: holder.keeper() != first, "second keeper")
        holder.wait_for("again")
        assert changes(holder.wait_for("polled")) == []


def test_a_stopped_keeper_harms_nothing(cluster: KafkaCluster, topic: str) -> None:
    """It does no harm while it is stopped, nor when it goes on: what it sends then has an old epoch."""
    with holding(config(cluster, "consumer", topic), topic, 1, then="consumer.poll(14)\nsay('polled')\n") as holder:
        holder.wait_for("holds")
        keeper = holder.keeper()
        os.kill(keeper, signal.SIGSTOP)
        with GroupMember(config(cluster, "consumer", topic, heartbeat_keeper="off")) as other:
            other.subscribe([topic])
            other.wait_until(lambda snapshot: len(snapshot.owned) == 1, PATIENCE_S)
            os.kill(keeper, signal.SIGCONT)
            assert "lost" not in changes(holder.wait_for("polled"))
            assert other.snapshot.state is MemberState.STABLE


def test_a_target_that_came_meanwhile_is_taken_up_at_once(cluster: KafkaCluster, topic: str) -> None:
    """Two members join and one leaves while the interpreter is held: the epoch rises more than once, and no partition is lost."""
    with holding(config(cluster, "consumer", topic), topic, 3 * SESSION_S) as holder:
        holder.wait_for("holds")
        off = config(cluster, "consumer", topic, heartbeat_keeper="off")
        with GroupMember(off) as first:
            first.subscribe([topic])
            first.wait_until(MemberState.STABLE, PATIENCE_S)
        with GroupMember(off) as second:
            second.subscribe([topic])
            second.wait_until(MemberState.STABLE, PATIENCE_S)
            holder.wait_for("free")
            second.wait_until(lambda snapshot: len(snapshot.owned) == 1, PATIENCE_S)
            assert "lost" not in changes(holder.wait_for("polled"))


def test_the_budget_of_the_application_is_the_limit(cluster: KafkaCluster, topic: str) -> None:
    """A hold beyond max.poll.interval.ms loses the partitions, as any work beyond it does."""
    held = config(cluster, "consumer", topic, max_poll_interval_ms=SESSION_S * 1000)
    with holding(held, topic, 4 * SESSION_S) as holder:
        holder.wait_for("holds")
        with GroupMember(config(cluster, "consumer", topic, heartbeat_keeper="off")) as other:
            other.subscribe([topic])
            other.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)
            holder.wait_for("free")


def test_a_forked_child_has_a_keeper_of_its_own(cluster: KafkaCluster, topic: str) -> None:
    """The parent's keeper goes on for the parent, and the child's ends with the child."""
    then = f"""
import os
child = os.fork()
if child == 0:
    mine = Consumer(config | {{"group.id": "child-of-" + config["group.id"]}})
    mine.subscribe([topic])
    while not mine.assignment():
        mine.poll(0.1)
    ctypes.PyDLL(None).sleep(2 * {SESSION_S})
    mine.poll(2)
    say("child", len(mine.assignment()))
    os._exit(0)
ctypes.PyDLL(None).sleep(3 * {SESSION_S})
os.waitpid(child, 0)
{THEN_POLL}
"""
    with holding(config(cluster, "consumer", topic), topic, 1, then=then) as holder:
        holder.wait_for("free")
        keepers = wait(
            lambda: grandchildren(holder.pid) and children(holder.pid) + grandchildren(holder.pid), "keepers"
        )
        assert len(keepers) == 3
        assert changes(holder.wait_for("polled")) == ["child"]
        assert len(children(holder.pid)) <= 1


def grandchildren(pid: int) -> list[int]:
    return [grandchild for child in children(pid) for grandchild in children(child)]


def test_many_members_share_one_keeper(cluster: KafkaCluster, topic: str) -> None:
    """There is one keeper process for any number of members."""
    then = f"""
from membership_client import GroupMember
class Listener:
    def on_partitions_assigned(self, partitions):
        assigned.append(partitions)  # Waits until the keeper is ready.

assigned = []
members = [GroupMember(config | {{"group.id": f"{{topic}}-{{number}}"}}, listener=Listener()) for number in range(8)]
for member in members:
    member.subscribe([topic])
while len(assigned) < len(members):
    time.sleep(0.1)
epochs = [member.epoch for member in members]
ctypes.PyDLL(None).sleep(2 * {SESSION_S})
time.sleep(3)
say("kept", [member.epoch for member in members] == epochs)
"""
    with holding(config(cluster, "consumer", topic), topic, 1, then=then) as holder:
        holder.wait_for("free")
        wait(lambda: children(holder.pid), "keeper")
        assert holder.wait_for("kept", whole=True)[-1] == ["kept", True]
        assert len(children(holder.pid)) <= 1


# --- security --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with secure_kafka(tmp_path_factory.mktemp("certificates")) as started:
        yield started


@pytest.mark.parametrize(
    "way", ["tls", "locked-key", "pem-strings", "key-store", "plain", "plain-in-the-clear", "scram-512"]
)
def test_every_way_in_is_kept(way: str, secured: SecureKafka) -> None:
    """The connections use TLS and SASL; no secret is in the keeper's arguments or environment."""
    held_topic = secured.new_topic(heartbeat_interval_ms=1000)
    secrets = secured.ways_in("http://127.0.0.1:1")[way]
    held = {**secrets, "group.id": held_topic, "group.protocol": "classic", "heartbeat.keeper": "process"}
    held |= {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 1000}
    with holding(held, held_topic, 2 * SESSION_S) as holder:
        holder.wait_for("holds")
        keeper = holder.keeper()
        for name in ("cmdline", "environ"):
            with open(f"/proc/{keeper}/{name}") as file:  # noqa: PTH123
                content = file.read()
            assert not any(str(value) in content for key, value in secrets.items() if "password" in key or "pem" in key)
        holder.wait_for("free")
        assert changes(holder.wait_for("polled")) == []
