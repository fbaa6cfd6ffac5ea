"""Programs with eager and cooperative classic consumers, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from membership_client.testing import History, Join, KafkaGroup, StoryError, VirtualGroup, What, explore
from tests.testing.kit.programs import CONFIG

CLASSIC = {**CONFIG, "group.protocol": "classic"}
EAGER = {**CLASSIC, "partition.assignment.strategy": "range"}
COOPERATIVE = {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}
STRATEGIES = pytest.mark.parametrize("config", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])


def careful(config: dict[str, Any]) -> Any:
    """Commits each record before the next."""

    def program(instance: Any) -> None:
        with instance.consumer(config) as consumer:
            consumer.subscribe(["orders"], on_revoke=lambda *_: None, on_lost=lambda *_: None)
            for message in consumer:
                instance.processed(message)
                consumer.commit(message, asynchronous=False)

    return program


def careful_async(config: dict[str, Any]) -> Any:
    async def program(instance: Any) -> None:
        async with instance.aio_consumer(config) as consumer:
            consumer.subscribe(["orders"])
            async for message in consumer:
                instance.processed(message)
                await consumer.commit(message)

    return program


@STRATEGIES
@pytest.mark.parametrize("kind", [careful, careful_async], ids=lambda kind: kind.__name__)
def test_right_programs_pass(config: dict[str, Any], kind: Any) -> None:
    """They pass through every event, also lost answers to joins."""
    assert explore(kind(config), seeds=20).rebalances > 80


def test_an_eager_rebalance_takes_everything(virtual_group: VirtualGroup) -> None:
    """All partitions are revoked, and some of them come back, as with librdkafka's default assignors."""
    moved = _revoked_when_another_joins(virtual_group, EAGER)
    assert len(moved) == 4


def test_a_cooperative_rebalance_takes_what_moves(virtual_group: VirtualGroup) -> None:
    """The instance reads the other partitions meanwhile."""
    moved = _revoked_when_another_joins(virtual_group, COOPERATIVE)
    assert len(moved) == 2


def _revoked_when_another_joins(group: VirtualGroup, config: dict[str, Any]) -> tuple[Any, ...]:
    group.join("a", careful(config))
    group.wait_assigned("a")
    group.join("b", careful(config))
    group.wait_assigned("a", "b")
    (moved,) = (entry.partitions for entry in group.history.of(What.REVOKED))
    group.produce(20)
    group.wait_processed(20)
    group.check()
    return moved


@STRATEGIES
@pytest.mark.parametrize("event", ["fence", "expire_session"])
def test_a_member_that_is_removed_comes_back(virtual_group: VirtualGroup, config: dict[str, Any], event: str) -> None:
    """Its partitions are lost, and not revoked."""
    virtual_group.join("a", careful(config))
    virtual_group.wait_assigned("a")
    getattr(virtual_group, event)("a")
    virtual_group.advance(5.0)
    virtual_group.wait_assigned("a")
    assert [name for _, name, _ in virtual_group.check().callbacks] == ["on_lost", "on_revoke"]


def test_a_bug_of_eager_groups_is_found() -> None:
    """A batch outlives a revoke: its records are read again, although the partition comes back to the same instance."""

    def batching(instance: Any) -> None:
        batch: list[Any] = []
        with instance.consumer(EAGER) as consumer:
            consumer.subscribe(["orders"], on_revoke=lambda *_: None)
            for message in consumer:
                batch.append(message)
                while len(batch) > 2:
                    instance.processed(batch[0])
                    consumer.commit(batch.pop(0), asynchronous=False)

    def none_twice(history: History) -> None:
        assert len(set(map(id, history.processed))) == len(history.processed), "twice"

    with pytest.raises(StoryError, match="twice") as found:
        explore(batching, events=[Join], checks=[none_twice], partitions=1)
    assert {entry.instance for entry in found.value.history.of(What.PROCESSED)} == {"a"}


@STRATEGIES
def test_the_same_programs_run_on_an_embedded_broker(kafka_group: KafkaGroup, config: dict[str, Any]) -> None:
    """There the clients compute the assignment."""
    kafka_group.produce(12)
    kafka_group.join("a", careful({**config, "heartbeat.interval.ms": 100}))
    kafka_group.wait_processed(12)
    kafka_group.join("b", careful({**config, "heartbeat.interval.ms": 100}))
    kafka_group.wait_assigned("a", "b")
    kafka_group.produce(12)
    kafka_group.wait_processed(24)
    kafka_group.leave("a")
    kafka_group.wait_assigned("b")
    kafka_group.check()
