"""stats_cb tells lag, offsets and the group as confluent-kafka's own Consumer does."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from typing import Any

import confluent_kafka
import pytest

from membership_client import Consumer
from membership_client.consumer.buffer import Buffer
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.settings import settings_of
from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import World
from tests.integration.members import PATIENCE_S

OFFSETS = ("stored_offset", "committed_offset", "commited_offset", "consumer_lag", "consumer_lag_stored", "app_offset")


class Watched:
    """A consumer of either library, and the last statistics that it told."""

    def __init__(self, kind: type[confluent_kafka.Consumer], world: World, **more: Any) -> None:
        self.told: dict[str, Any] = {}
        self._topic = world.topic
        given = {key.replace("_", "."): value for key, value in more.items()}
        config = {
            "bootstrap.servers": world.group.bootstrap_servers,
            "group.id": world.group.id if kind is Consumer else f"{world.group.id}-theirs",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "statistics.interval.ms": 50,
            "stats_cb": self._on_statistics,
        }
        self.consumer = kind({**config, **given})

    def _on_statistics(self, text: str) -> None:
        self.told = json.loads(text)

    def offsets(self) -> dict[int, tuple[int, ...]]:
        """By partition; nothing before its end is known."""
        partitions = self.told.get("topics", {}).get(self._topic, {"partitions": {}})["partitions"]
        known = {int(name): numbers for name, numbers in partitions.items() if numbers["hi_offset"] >= 0}
        return {number: tuple(numbers[name] for name in OFFSETS) for number, numbers in known.items() if number >= 0}

    def wait(self, *first: int) -> None:
        """Until these are the first numbers of partition 0. No records come meanwhile, for they are paused."""
        give_up_at = time.monotonic() + PATIENCE_S
        while self.offsets().get(0, ())[: len(first)] != first:
            assert time.monotonic() < give_up_at, self.told
            assert self.consumer.poll(0.05) is None

    def read(self, count: int) -> None:
        """So many records; then no more, until the end."""
        give_up_at, read = time.monotonic() + PATIENCE_S, 0
        while read < count:
            assert time.monotonic() < give_up_at
            read += self.consumer.poll(0.1) is not None
        self.consumer.pause(self.consumer.assignment())


@pytest.mark.kafka
def test_numbers_beside_confluent_kafka(new_world: NewWorld) -> None:
    """Before and after a commit, with records that are fetched and not handed out: the same offsets and the same lag."""
    world = new_world(partitions=1)
    world.produce(10)
    told: list[list[tuple[int, ...]]] = []
    for kind in (confluent_kafka.Consumer, Consumer):
        watched = Watched(kind, world)
        consumer = watched.consumer
        consumer.subscribe([world.topic])
        watched.read(4)
        watched.wait(4)
        before = watched.offsets()[0]
        consumer.commit(offsets=[confluent_kafka.TopicPartition(world.topic, 0, 3)], asynchronous=False)
        watched.wait(4, 3)
        told.append([before, watched.offsets()[0]])
        group = watched.told["cgrp"]
        assert (group["state"], group["join_state"], group["assignment_size"]) == ("up", "steady", 1)
        assert group["rebalance_cnt"] >= 1
        assert group["rebalance_reason"].startswith("joined" if kind is Consumer else "")
        assert group["rebalance_age"] >= 0 <= group["stateage"]
        consumer.close()
    assert told[0] == told[1] == [(4, -1001, -1001, -1, 6, 4), (4, 3, 3, 7, 6, 4)]


@pytest.mark.kafka
def test_offsets_that_were_committed_earlier_or_stored(new_world: NewWorld) -> None:
    """What a former member committed is known from the start; a record counts as stored when the application says so."""
    world = new_world(partitions=1)
    world.produce(10)
    told: list[tuple[int, ...]] = []
    for kind in (confluent_kafka.Consumer, Consumer):
        former = Watched(kind, world)
        place = confluent_kafka.TopicPartition(world.topic, 0, 2)
        former.consumer.commit(offsets=[place], asynchronous=False)
        former.consumer.close()
        watched = Watched(kind, world, enable_auto_offset_store=False)
        watched.consumer.subscribe([world.topic])
        watched.read(3)
        watched.consumer.store_offsets(offsets=[confluent_kafka.TopicPartition(world.topic, 0, 4)])
        watched.wait(4, 2)
        told.append(watched.offsets()[0])
        watched.consumer.close()
    assert told[0] == told[1] == (4, 2, 2, 8, 6, 5)


@pytest.mark.kafka
def test_without_a_subscription(new_world: NewWorld) -> None:
    """assign() has the same numbers, and the group block is librdkafka's."""
    world = new_world(partitions=1)
    world.produce(10)
    told: list[tuple[int, ...]] = []
    for kind in (confluent_kafka.Consumer, Consumer):
        watched = Watched(kind, world)
        watched.consumer.assign([confluent_kafka.TopicPartition(world.topic, 0, 1)])
        watched.read(3)
        watched.consumer.commit(asynchronous=False)
        watched.wait(4, 4)
        told.append(watched.offsets()[0])
        assert watched.told["cgrp"]["join_state"]
        watched.consumer.close()
    assert told[0] == told[1] == (4, 4, 4, 6, 6, 4)


@pytest.mark.kafka
def test_what_the_application_raises(new_world: NewWorld) -> None:
    """It comes out of poll(), and out of close() if statistics still come, as in confluent-kafka."""
    world = new_world(partitions=1)

    def fail(_text: str) -> None:
        raise LookupError("no statistics today")

    for kind in (confluent_kafka.Consumer, Consumer):
        consumer = kind({**world.config(), "statistics.interval.ms": 20, "stats_cb": fail})
        with pytest.raises(LookupError, match="today"):
            consumer.poll(PATIENCE_S)
        with contextlib.suppress(LookupError):
            consumer.close()


def test_the_thread_that_closes_is_told() -> None:
    """The bugs: stats_cb ran on another thread, so one that needed a lock of the closing thread cost 10 s; what it raised was only logged."""
    lock, told_on = threading.RLock(), []

    def on_statistics(_text: str) -> None:
        told_on.append(threading.get_ident())
        with lock:
            raise LookupError(f"no statistics today: {len(told_on)}")

    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0}
    consumer = Consumer({**config, "statistics.interval.ms": 1, "stats_cb": on_statistics})
    time.sleep(0.2)
    with lock, pytest.raises(LookupError, match="today: 1"):
        consumer.close()
    assert len(told_on) > 1
    assert set(told_on) == {threading.get_ident()}
    assert consumer.close().clean


def test_text_that_cannot_be_filled_in(caplog: pytest.LogCaptureFixture) -> None:
    """It is passed on as it is, and one line in the log says so."""
    told: list[str] = []
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0, "stats_cb": told.append}
    statistics = settings_of(config).statistics
    assert statistics is not None
    statistics("before the consumer is whole")
    statistics.read_from(lambda: None, Buffer(), PendingOffsets(lambda places: places, auto_store=True))
    with caplog.at_level(logging.WARNING, "membership_client"):
        statistics('{"topics": {"orders": {}}}')
        statistics("no JSON")
    assert told == ["before the consumer is whole", '{"topics": {"orders": {}}}', "no JSON"]
    assert len(caplog.records) == 1


@pytest.mark.kafka
def test_statistics_come_while_records_wait_in_the_buffer(new_world: NewWorld) -> None:
    """A program that takes a second per record had none for minutes, nor error_cb and new tokens, until the buffer was empty."""
    world = new_world(partitions=1)
    world.produce(300)
    watched = Watched(Consumer, world)
    consumer = watched.consumer
    assert isinstance(consumer, Consumer)
    consumer.subscribe([world.topic])
    give_up_at = time.monotonic() + PATIENCE_S
    while len(consumer._buffer) < 100:
        assert time.monotonic() < give_up_at
        consumer.poll(0.1)
    watched.told = {}
    for _ in range(60):
        assert consumer.poll(1.0) is not None
        time.sleep(0.05)
    assert watched.told
    consumer.close()
