"""Incidents of whole groups: subscriptions, settings, topics, restarts, clocks, a record that moves from member to member."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer as TheirConsumer
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place

from membership_client.testing import EmbeddedKafka
from tests.incidents.conftest import Stage
from tests.integration.members import eventually


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    """Its brokers need no Java, and take orders."""
    with EmbeddedKafka() as cluster:
        yield cluster


@pytest.fixture
def own_stage(embedded: EmbeddedKafka, new_stage: Callable[..., Stage]) -> Stage:
    return new_stage(embedded.bootstrap_servers)


def show(findings):
    for f in findings:
        print(
            "FINDING",
            f.kind.name,
            f.certainty,
            f.members,
            list(map(str, f.partitions)),
            "|",
            f.sentence,
            "| DO",
            f.advice,
        )


def test_two_members_whose_subscriptions_flap_are_both_named(own_stage: Stage) -> None:
    steady, one, two = own_stage.enter("steady"), own_stage.enter("one"), own_stage.enter("two")
    for actor in (steady, one, two):
        eventually(lambda a=actor: a.said and a.said[-1].get("state") == "STABLE", "stable")
    own_stage.admin.create_topic(own_stage.name + "-more", 2)
    for round_ in range(4):
        for actor in (one, two):
            n = len(actor.said)
            actor.tell(
                f"subscribe {own_stage.name} {own_stage.name}-more"
                if round_ % 2 == 0
                else f"subscribe {own_stage.name}"
            )
            time.sleep(1.0)
    show(own_stage.findings())


def test_interval_changed(own_stage: Stage) -> None:
    one, two = own_stage.enter("one"), own_stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    own_stage.admin.set_group_config(own_stage.name, consumer_heartbeat_interval_ms=1500)
    time.sleep(4)
    own_stage.admin.set_group_config(own_stage.name, consumer_heartbeat_interval_ms=300)
    time.sleep(4)
    one.close("x")
    two.close("x")
    show(own_stage.findings())


def test_partitions_added(embedded, own_stage: Stage) -> None:
    one = own_stage.enter("one", config={"metadata.max.age.ms": 1000})
    two = own_stage.enter("two", fails=["assigned"], fails_from=4, config={"metadata.max.age.ms": 1000})
    one.wait_owner(2)
    two.wait_owner(2)
    embedded.add_partitions(own_stage.name, 8)
    one.wait_owner(4)
    time.sleep(3)
    show(own_stage.findings())


def test_in_c(own_stage: Stage) -> None:
    one, two = own_stage.enter("one"), own_stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    one.tell("block-in-c 7")
    one.wait_back(2)
    show(own_stage.findings())


def test_clocks(own_stage: Stage) -> None:
    one = own_stage.enter("one", clock_s=3600.0)
    one.wait_owner(4)
    two = own_stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    two.close("scaled down")
    one.wait_owner(4)
    one.close("x")
    show(own_stage.findings())


def test_loading(embedded, own_stage: Stage) -> None:
    one, two = own_stage.enter("one"), own_stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    embedded.move_coordinator(loading_s=3.0)
    time.sleep(6)
    one.wait_owner(2)
    two.wait_owner(2)
    one.close("x")
    two.close("x")
    show(own_stage.findings())


def test_missing_topic(own_stage: Stage) -> None:
    one = own_stage.enter("one")
    one.wait_owner(4)
    one.tell(f"subscribe {own_stage.name} {own_stage.name}-ordesr")
    time.sleep(6)
    one.close("x")
    show(own_stage.findings())


def test_rolling(own_stage: Stage) -> None:
    names = [f"pod-{n}" for n in range(4)]
    actors = {name: own_stage.enter(name) for name in names}
    for actor in actors.values():
        actor.wait_owner(1)
    for name in names:
        actors[name].close("rolling restart")
        actors[name] = own_stage.enter(name, incarnation="-new")
        actors[name].wait_owner(1)
    for actor in actors.values():
        actor.close("x")
    show(own_stage.findings())


def test_evicted(own_stage: Stage) -> None:
    one, two = own_stage.enter("one", host="node-1"), own_stage.enter("two", host="node-2")
    one.wait_owner(2)
    two.wait_owner(2)
    one.signal(signal.SIGKILL)
    new = own_stage.enter("one", incarnation="-new", host="node-3", config={"group.instance.id.conflict": "takeover"})
    new.wait_owner(2)
    two.wait_owner(2)
    new.close("x")
    two.close("x")
    show(own_stage.findings())


def test_poison(own_stage: Stage) -> None:
    producer = Producer({"bootstrap.servers": own_stage.bootstrap_servers})
    producer.produce(own_stage.name, b"poison", partition=2)
    producer.flush()
    actors = [
        own_stage.enter(f"m{n}", consumes=True, poison_s=9.0, static=False, config={"max.poll.interval.ms": 3000})
        for n in range(2)
    ]
    time.sleep(22)
    show(own_stage.findings())


def test_transaction(own_stage: Stage) -> None:
    reader = TheirConsumer(
        {"bootstrap.servers": own_stage.bootstrap_servers, "group.id": own_stage.name, "group.protocol": "classic"}
    )
    producer = Producer({"bootstrap.servers": own_stage.bootstrap_servers, "transactional.id": own_stage.name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_offsets_to_transaction([Place(own_stage.name, 1, 0)], reader.consumer_group_metadata(), 10)
    one = own_stage.enter("one", consumes=True)
    time.sleep(9)
    producer.commit_transaction()
    one.wait_owner(4)
    reader.close()
    show(own_stage.findings())
