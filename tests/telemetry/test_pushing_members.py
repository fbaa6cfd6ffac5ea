"""Members of every public class push their metrics to brokers that want them, over a socket to embedded brokers."""

from __future__ import annotations

import asyncio
import datetime as dt
import zlib
from collections.abc import Iterator
from uuid import UUID

import pytest
from confluent_kafka import Producer

from membership_client import Consumer, GroupMember, MemberState, aio
from membership_client.testing import EmbeddedKafka
from membership_client.testing.embedded import apis
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from tests.integration.members import eventually
from tests.telemetry.otlp_text import Told, read_metrics

PREFIX = "org.apache.kafka.consumer.coordinator."
LIMIT_S = 60.0


class Receiver:
    """Embedded brokers with a receiver of metrics."""

    def __init__(self) -> None:
        self.asked = 0
        self.told: list[tuple[bool, Told]] = []
        """Of each push of a membership, whether it is the last one, and what it says."""

    def subscription(self, _cluster: Cluster, call: BrokerCall) -> None:
        self.asked += 1
        call.reply(
            {
                "client_instance_id": UUID(int=7),
                "subscription_id": 1,
                "accepted_compression_types": (1,),
                "push_interval": dt.timedelta(milliseconds=200),
                "telemetry_max_bytes": 1_000_000,
                "delta_temporality": True,
                "requested_metrics": (PREFIX,),
            }
        )

    def push(self, _cluster: Cluster, call: BrokerCall) -> None:
        data = zlib.decompress(call.request.metrics, 31)
        if b"group_member_id" in data:  # librdkafka's pushes have none.
            self.told.append((call.request.terminating, read_metrics(data)))
        call.reply({})

    def sum(self, name: str) -> float:
        """The sum over all pushes so far."""
        return sum(told.sums[PREFIX + name] for _, told in tuple(self.told))


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Receiver:
    receiver = Receiver()
    known = dict(apis.APIS)
    known[71] = apis.Api(71, "GetTelemetrySubscriptions", 0, 0, receiver.subscription)
    known[72] = apis.Api(72, "PushTelemetry", 0, 0, receiver.push)
    monkeypatch.setattr(apis, "APIS", known)
    monkeypatch.setattr("membership_client.testing.embedded.broker.APIS", known)
    return receiver


@pytest.fixture
def kafka(receiver: Receiver) -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 3}) as kafka:
        yield kafka


def config(kafka: EmbeddedKafka, **more: str) -> dict[str, str]:
    return {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", **more}


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_member(kafka: EmbeddedKafka, receiver: Receiver, protocol: str) -> None:
    """It pushes its first rebalance, and a last time when it has left."""
    with GroupMember(config(kafka, **{"group.protocol": protocol})) as member:
        member.subscribe(["orders"])
        member_id = member.wait_until(MemberState.STABLE, LIMIT_S).member_id
        eventually(lambda: receiver.sum("rebalance.total") == 1.0, "its rebalance is told", LIMIT_S)
    eventually(lambda: receiver.told[-1][0], "the last push", LIMIT_S)
    last = receiver.told[-1][1]
    assert last.resource == {"group_id": "g", "group_member_id": member_id}
    assert last.gauges[PREFIX + "assigned.partitions"] == 0.0
    assert [terminating for terminating, _ in receiver.told].count(True) == 1


def test_a_consumer_that_commits(kafka: EmbeddedKafka, receiver: Receiver) -> None:
    """Automatic commits are counted, too."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", b"pears")
    producer.flush()
    keys = {"auto.offset.reset": "earliest", "auto.commit.interval.ms": "100"}
    with Consumer(config(kafka, **keys)) as consumer:
        consumer.subscribe(["orders"])
        eventually(lambda: consumer.poll(0.1) is not None, "the record", LIMIT_S)
        eventually(lambda: consumer.poll(0.05) is None and receiver.sum("commit.total") >= 1.0, "a commit", LIMIT_S)


def test_asyncio(kafka: EmbeddedKafka, receiver: Receiver) -> None:
    """The member inside is the same."""

    async def run() -> None:
        async with aio.GroupMember(config(kafka)) as member:
            member.subscribe(["orders"])
            await member.wait_until(MemberState.STABLE, LIMIT_S)

    asyncio.run(run())
    eventually(lambda: any(terminating for terminating, _ in tuple(receiver.told)), "the last push", LIMIT_S)


def test_a_member_that_is_switched_off(kafka: EmbeddedKafka, receiver: Receiver) -> None:
    """It does not ask for the subscription."""
    with GroupMember(config(kafka, **{"enable.metrics.push": "false"})) as member:
        member.subscribe(["orders"])
        member.wait_until(MemberState.STABLE, LIMIT_S)
    assert receiver.asked == 0
