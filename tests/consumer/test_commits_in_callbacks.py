"""Commits inside an assigned callback, of the partitions that it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition

from membership_client import CallbackContext, Consumer, GroupMember, RebalanceListener
from membership_client import TopicPartition as Place
from membership_client.confluent.aio import AIOConsumer
from membership_client.testing import EmbeddedKafka
from tests.testing.embedded_groups import PATIENCE_S, QUICK

FIRST, SECOND = Place("orders", 0), Place("orders", 1)
BOTH = pytest.mark.parametrize("protocol", ["consumer", "classic"])


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 2}, settings=QUICK) as cluster:
        yield cluster


def config(embedded: EmbeddedKafka, protocol: str) -> dict[str, object]:
    return {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop", "group.protocol": protocol}


@BOTH
def test_on_assign_commits_where_its_partitions_start(embedded: EmbeddedKafka, protocol: str) -> None:
    """It was refused as not owned, where confluent-kafka takes it."""

    def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.commit(offsets=[TopicPartition(p.topic, p.partition, 7) for p in partitions], asynchronous=False)

    with Consumer(config(embedded, protocol)) as consumer:
        consumer.subscribe(["orders"], on_assign=on_assign)
        embedded.wait_for(lambda: consumer.poll(0.05) is None and consumer.assignment(), PATIENCE_S)
        assert embedded.committed("shop") == {FIRST: 7, SECOND: 7}


@BOTH
def test_an_assigned_callback_of_a_member_commits(embedded: EmbeddedKafka, protocol: str) -> None:
    """Only its own partitions: the others are not this member's yet."""

    class Start(RebalanceListener):
        def on_partitions_assigned(self, partitions: tuple[Place, ...], context: CallbackContext) -> None:
            member.commit(dict.fromkeys(partitions, 7))

    with GroupMember(config(embedded, protocol), listener=Start()) as member:
        member.subscribe(["orders"])
        member.wait_until(lambda snapshot: snapshot.owned == {FIRST, SECOND}, PATIENCE_S)
        assert embedded.committed("shop") == {FIRST: 7, SECOND: 7}


def test_on_assign_of_asyncio_commits(embedded: EmbeddedKafka) -> None:
    """A callback that is a coroutine function awaits the commit."""

    async def read() -> None:
        async def on_assign(_: AIOConsumer, partitions: list[TopicPartition]) -> None:
            offsets = [TopicPartition(p.topic, p.partition, 7) for p in partitions]
            await consumer.commit(offsets=offsets, asynchronous=False)

        consumer = AIOConsumer(config(embedded, "consumer"))
        await consumer.subscribe(["orders"], on_assign=on_assign)
        while not await consumer.assignment():
            await consumer.poll(0.05)
        await consumer.close()

    asyncio.run(asyncio.wait_for(read(), PATIENCE_S))
    assert embedded.committed("shop") == {FIRST: 7, SECOND: 7}
