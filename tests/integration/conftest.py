"""Fixtures: groups for each test; their members are closed also when the test failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from membership_client.testing import KafkaCluster
from membership_client.testing.wire import parse_addresses
from tests.integration.members import QUICK, Group
from tests.integration.processes import MemberProcess
from tests.integration.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Brokers(Protocol):
    """A cluster to which clients can connect."""

    @property
    def bootstrap_servers(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ProxiedKafka:
    """A broker whose clients all come through a proxy, because it advertises the proxy's address as its own."""

    cluster: KafkaCluster
    proxy: Proxy

    @property
    def bootstrap_servers(self) -> str:
        return self.proxy.address


@pytest.fixture(scope="module")
def proxied_kafka_of_module() -> Iterator[ProxiedKafka]:
    with Proxy() as proxy:
        settings = {"advertised.listeners": f"PLAINTEXT://{proxy.address}"}
        with KafkaCluster(settings=settings) as cluster:
            (proxy.target,) = parse_addresses(cluster.bootstrap_servers)
            yield ProxiedKafka(cluster, proxy)


@pytest.fixture
def proxied_kafka(proxied_kafka_of_module: ProxiedKafka) -> Iterator[ProxiedKafka]:
    """A broker behind a proxy, shared by the tests of a module; the proxy is mended after each test."""
    yield proxied_kafka_of_module
    proxied_kafka_of_module.proxy.mend()
    proxied_kafka_of_module.proxy.resume()


class GroupFactory(Protocol):
    """`partitions` of the group's topic; the other arguments are group settings, such as consumer_session_timeout_ms."""

    def __call__(self, cluster: Brokers, partitions: int = 6, **settings: int) -> Group: ...


@pytest.fixture
def new_group(request: pytest.FixtureRequest) -> Iterator[GroupFactory]:
    """Makes groups on any cluster. Heartbeats come often and assignments at once, unless the settings say otherwise."""
    made: list[Group] = []

    def make(cluster: Brokers, partitions: int = 6, **settings: int) -> Group:
        group = Group(cluster.bootstrap_servers, _short_name(request.node.name))
        made.append(group)
        # In this order: a broker that knows the topic knows the settings too, and the first join goes by them.
        group.admin.set_group_config(group.id, **(QUICK | settings))
        group.create_topic(group.topic, partitions)
        return group

    yield make
    for group in made:
        group.close()


@pytest.fixture
def group(kafka: KafkaCluster, new_group: GroupFactory) -> Group:
    """A group on the shared broker, whose topic has six partitions."""
    return new_group(kafka)


@pytest.fixture
def new_process() -> Iterator[Callable[..., MemberProcess]]:
    """Starts members in processes of their own; takes what MemberProcess takes. None of them outlives the test."""
    started: list[MemberProcess] = []

    def start(group: Group, plan: str = "stay", config: Mapping[str, Any] | None = None) -> MemberProcess:
        started.append(MemberProcess(group, plan, config))
        return started[-1]

    yield start
    for process in started:
        process.stop()


def _short_name(test: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_"))[:60].strip("-")
