"""Every version of JoinGroup on a real broker, each with what else a broker of its time knew: a whole life in a classic group."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from membership_client import BrokerTooOldError, LeaveMode
from membership_client.core.events import Answered, MemberIdGiven
from membership_client.testing import KafkaCluster
from membership_client.testing.jars import KAFKA_VERSION, OLD_KAFKA_VERSION
from membership_client.testing.wire import parse_addresses
from tests.integration.classic import CLASSIC, wait_shared
from tests.integration.conftest import ProxiedKafka
from tests.integration.members import Group, WatchedMember, assert_never_shared, log_about
from tests.integration.proxy import CLASSIC_HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP, Proxy
from tests.needs import need

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

HOST = "127.0.0.2"


@dataclass(frozen=True, slots=True)
class Era:
    """The newest versions of one time. Each JoinGroup here is another one."""

    kafka: str
    join: int
    sync: int
    heartbeat: int
    leave: int

    @property
    def versions(self) -> dict[int, int]:
        return {
            JOIN_GROUP: self.join,
            SYNC_GROUP: self.sync,
            CLASSIC_HEARTBEAT: self.heartbeat,
            LEAVE_GROUP: self.leave,
        }


ERAS = (
    Era("0.9", 0, 0, 0, 0),
    Era("0.10.1", 1, 0, 0, 0),
    Era("0.11", 2, 1, 1, 1),
    Era("2.0", 3, 2, 2, 2),
    Era("2.2", 4, 2, 2, 2),
    Era("2.3", 5, 3, 3, 2),
    Era("2.4", 6, 4, 4, 4),
    Era("2.5", 7, 5, 4, 4),
    Era("a build before 3.2", 8, 5, 4, 5),
    Era("3.2", 9, 5, 4, 5),
)
OF_BROKERS = {OLD_KAFKA_VERSION: ERAS[:2], KAFKA_VERSION: ERAS[2:]}
"""Kafka 4.0 dropped the first two."""
CASES = [(kafka, era) for kafka, eras in OF_BROKERS.items() for era in eras]

each_version = pytest.mark.parametrize(("kafka", "era"), CASES, ids=[f"v{era.join}-{kafka}" for kafka, era in CASES])


@contextlib.contextmanager
def behind_a_proxy(version: str) -> Iterator[ProxiedKafka]:
    """The proxy has the broker's port on another host: 2.8 advertises that port whatever it is told."""
    need(f"kafka-{version}")
    with KafkaCluster(settings={"advertised.listeners": f"PLAINTEXT://{HOST}:0"}, version=version) as cluster:
        (broker,) = parse_addresses(cluster.bootstrap_servers)
        with Proxy(broker, listen=(HOST, broker[1])) as proxy:
            yield ProxiedKafka(cluster, proxy)


@pytest.fixture(scope="module")
def brokers() -> Iterator[Callable[[str], ProxiedKafka]]:
    """By version; each is started when it is first asked for."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda version: stack.enter_context(behind_a_proxy(version)))


@pytest.fixture
def aged_kafka(brokers: Callable[[str], ProxiedKafka], kafka: str, era: Era) -> ProxiedKafka:
    """Seems to be of that era."""
    broker = brokers(kafka)
    broker.proxy.age(era.versions)
    return broker


@pytest.fixture
def group(aged_kafka: ProxiedKafka) -> Iterator[Group]:
    """Its topic has six partitions."""
    made = Group(aged_kafka.bootstrap_servers, "versions")
    made.admin.create_topic(made.topic, 6)
    yield made
    made.close()


@each_version
def test_a_whole_life(aged_kafka: ProxiedKafka, group: Group, era: Era) -> None:
    """Join, rebalance, heartbeats, leave: each in the version of that time, and what it has no place for is done without."""
    first = group.join(**CLASSIC)
    wait_shared(group, [first])
    second = group.join(**CLASSIC)
    wait_shared(group, [first, second])
    assert [len(member.assignment()) for member in (first, second)] == [3, 3]
    assert second.close().clean
    wait_shared(group, [first])
    assert first.close().clean
    assert {api: aged_kafka.proxy.spoken(api) for api in era.versions} == {api: {v} for api, v in era.versions.items()}
    assert [was_given_an_id(member) for member in (first, second)] == [era.join >= 4] * 2
    said = log_about(aged_kafka.cluster, group.id)()
    assert ("client reason: subscribed by the application" in said) == (era.join >= 8)
    assert ("client reason: closed by the application" in said) == (era.leave >= 5)
    assert_never_shared(group.members)


def was_given_an_id(member: WatchedMember) -> bool:
    """Was it told to join again, under an id that the broker chose?"""
    events = [step.event for step in member.steps]
    return any(isinstance(event, Answered) and isinstance(event.response, MemberIdGiven) for event in events)


@each_version
def test_a_static_member(aged_kafka: ProxiedKafka, group: Group, era: Era) -> None:
    """It restarts into its place from version 5 on; before, it is told by name that the broker is too old for it."""
    other, member = group.join(**CLASSIC), group.join("one", **CLASSIC)
    if era.join < 5:
        with pytest.raises(BrokerTooOldError, match="JoinGroup v5"):
            member.wait_stable()
        return
    wait_shared(group, [other, member])
    owned, epoch = member.assignment(), other.epoch
    assert member.close().clean
    successor = group.join("one", **CLASSIC)
    wait_shared(group, [other, successor])
    assert (successor.assignment(), other.epoch) == (owned, epoch)
    assert aged_kafka.proxy.spoken(JOIN_GROUP) == {era.join}
    assert successor.close(LeaveMode.LEAVE).clean == (era.leave >= 3)
