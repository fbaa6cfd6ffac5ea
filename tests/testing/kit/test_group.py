"""`KafkaGroup`: real clients on an embedded broker, with one history for all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import confluent_kafka
import pytest

from membership_client import ConfigError, Consumer, GroupMember, MemberState, TopicPartition, aio
from membership_client.testing import (
    CheckError,
    KafkaGroup,
    What,
    everything_committed_before_release,
    no_commit_after_loss,
    nothing_processed_after_revoke,
)
from tests.testing.kit.programs import CONFIG, careful

CONSUMERS = [Consumer, confluent_kafka.Consumer]


@pytest.mark.parametrize("consumer", CONSUMERS, ids=["ours", "confluent"])
def test_a_story(kafka_group: KafkaGroup, consumer: Any) -> None:
    """A second member joins, the first is fenced and comes back, the second leaves: every record is processed."""
    kafka_group.produce(10)
    kafka_group.join("a", careful, consumer=consumer)
    kafka_group.wait_processed(10)
    kafka_group.join("b", careful, consumer=consumer)
    kafka_group.wait_assigned("a", "b")
    kafka_group.fence("a")
    kafka_group.wait_for(lambda: any(kafka_group.history.of(What.LOST)))
    kafka_group.produce(10)
    kafka_group.wait_processed(20)
    kafka_group.leave("b")
    kafka_group.wait_assigned("a")
    history = kafka_group.check()
    assert [entry.text for entry in history.of(What.EVENT)] == ["join('a')", "join('b')", "fence('a')", "leave('b')"]


@pytest.mark.parametrize("consumer", CONSUMERS, ids=["ours", "confluent"])
def test_a_bug_is_found(kafka_group: KafkaGroup, consumer: Any) -> None:
    """A program without commits releases partitions whose records are not committed."""

    def forgetful(instance: Any) -> None:
        consumer = instance.consumer(CONFIG)
        consumer.subscribe(["orders"])
        try:
            while True:
                message = consumer.poll(1.0)
                if message is not None:
                    instance.processed(message)
        finally:
            consumer.close()

    kafka_group.produce(10)
    kafka_group.join("a", forgetful, consumer=consumer)
    kafka_group.wait_processed(10)
    kafka_group.join("b", forgetful, consumer=consumer)
    kafka_group.wait_assigned("a", "b")
    with pytest.raises(CheckError, match="released before everything that was processed was committed"):
        kafka_group.check()


def test_callbacks_get_what_the_client_gives_them(kafka_group: KafkaGroup) -> None:
    """They get the program's consumer, the partitions, and a context if they take one."""
    seen: list[tuple[Any, int, int]] = []

    def program(instance: Any) -> None:
        with instance.consumer(CONFIG) as consumer:
            consumer.subscribe(
                ["orders"], on_assign=lambda c, p, context: seen.append((c is consumer, len(p), context.epoch))
            )
            for message in consumer:
                instance.processed(message)

    kafka_group.produce(1)
    kafka_group.join("a", program)
    kafka_group.wait_processed(1)
    kafka_group.stop()
    assert seen[-1][:2] == (True, 4)
    assert seen[-1][2] > 0
    assert kafka_group.history.callbacks[-1][:2] == ("a", "on_assign")


class Listener:
    """A listener of a GroupMember without the methods that it does not need."""

    def on_partitions_revoked(self, partitions: Any) -> None:
        """Forget the partitions."""


class AsyncListener:
    async def on_partitions_lost(self, partitions: Any, context: Any) -> None:
        await asyncio.sleep(0)


def test_a_group_member_with_its_listener(kafka_group: KafkaGroup) -> None:
    """Callbacks and commits of a program with its own fetcher are in the history, too."""

    def program(instance: Any) -> None:
        with GroupMember(instance.config, listener=instance.listener(Listener())) as member:
            member.subscribe(["orders"])
            member.wait_until(lambda now: len(now.owned) == 4, 30)
            member.commit({TopicPartition("orders", 0): 7})
            member.unsubscribe()
            member.wait_until(MemberState.UNSUBSCRIBED, 30)

    kafka_group.join("a", program)
    kafka_group.wait_for(lambda: any(kafka_group.history.of(What.ENDED)))
    history = kafka_group.check(
        everything_committed_before_release, no_commit_after_loss, nothing_processed_after_revoke
    )
    assert [name for _, name, _ in history.callbacks] == ["on_revoke"]
    assert history.committed == {TopicPartition("orders", 0): 7}


def test_a_consumer_of_asyncio(kafka_group: KafkaGroup) -> None:
    """A listener of coroutines is awaited and recorded."""

    async def consume(instance: Any) -> None:
        async with aio.Consumer({**instance.config, **CONFIG}) as consumer:
            await consumer.subscribe(["orders"], listener=instance.listener(AsyncListener()))
            while True:
                instance.check_interrupt()
                message = await consumer.poll(0.1)
                if message is not None:
                    instance.processed(message)
                    await consumer.commit(message, asynchronous=False)

    kafka_group.produce(5)
    kafka_group.join("a", lambda instance: asyncio.run(consume(instance)))
    kafka_group.wait_for(lambda: sum(kafka_group.kafka.committed(kafka_group.group_id).values()) == 5)
    kafka_group.expire_session("a")
    kafka_group.wait_for(lambda: kafka_group.history.callbacks)
    kafka_group.produce(5)
    kafka_group.wait_processed(10)
    assert [name for _, name, _ in kafka_group.check().callbacks] == ["on_lost"]


def test_what_a_program_raises_is_raised_by_the_test(kafka_group: KafkaGroup) -> None:
    """The next wait raises it, before its timeout."""

    def buggy(instance: Any) -> None:
        raise KeyError("orders")

    kafka_group.join("a", buggy)
    with pytest.raises(KeyError, match="orders"):
        kafka_group.wait_processed(1)
    with pytest.raises(KeyError, match="orders"):
        kafka_group.stop()


def test_a_wait_that_fails_shows_the_history(kafka_group: KafkaGroup) -> None:
    """The error has the history."""
    kafka_group.join("a", careful)
    kafka_group.wait_for(lambda: "on_assign begins" in str(kafka_group.history))
    with pytest.raises(TimeoutError, match="on_assign begins orders-0"):
        kafka_group.wait_processed(1, timeout_s=0.1)


def test_checks_are_functions(kafka_group: KafkaGroup) -> None:
    """Another object was once a TypeError after everything had ended."""
    wrong: Any = 3
    with pytest.raises(ConfigError, match="a function of a history"):
        kafka_group.check(wrong)


def test_names(kafka_group: KafkaGroup) -> None:
    """Each running instance has another name, and a name of no instance is refused."""
    kafka_group.join("a", careful)
    with pytest.raises(ConfigError, match="'a' has joined already"):
        kafka_group.join("a", careful)
    with pytest.raises(LookupError, match="no instance 'b'"):
        kafka_group.fence("b")
