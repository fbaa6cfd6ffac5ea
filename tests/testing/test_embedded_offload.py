"""Assignments that are computed in the background (KIP-1263). No release of Kafka has that yet, so there is no real broker to compare with."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from membership_client import Consumer
from membership_client.core.events import Heartbeat, HeartbeatAccepted
from membership_client.partitions import NOTHING
from membership_client.testing import EmbeddedKafka
from membership_client.testing.fake_coordinator import CoordinatorSettings, FakeCoordinator
from membership_client.testing.fake_topics import FakeTopics
from membership_client.types import TopicPartition
from tests.testing.embedded_groups import PATIENCE_S, QUICK, Heard, member

OFFLOADING: dict[str, str | int] = {**QUICK, "group.consumer.assignor.offload.enable": "true"}
ALL = frozenset(TopicPartition("orders", number) for number in range(4))


class Group:
    """Members that send heartbeats to a coordinator, each with the epoch of its last answer."""

    def __init__(self) -> None:
        settings = CoordinatorSettings(assignment_interval_s=0.0, offloads_assignor=True)
        self._coordinator = FakeCoordinator(FakeTopics({"orders": 4}), settings)
        self._epochs: dict[str, int] = {}
        self._owned: dict[str, Any] = {}

    def beat(self, name: str) -> tuple[int, int]:
        """Send a heartbeat; returns the epoch of the answer, and the number of the member's partitions."""
        epoch = self._epochs.get(name, 0)
        request = Heartbeat(
            group_id="shop",
            member_id=name,
            epoch=epoch,
            rebalance_timeout_s=60.0,
            topics=("orders",) if epoch == 0 else None,
            owned=self._owned.get(name, NOTHING),
        )
        answer = self._coordinator.handle(request, 0.0)
        assert isinstance(answer, HeartbeatAccepted)
        self._epochs[name] = answer.epoch
        if answer.assignment is not None:
            self._owned[name] = answer.assignment
        return answer.epoch, len(self._owned[name])


def test_the_first_answer_is_epoch_1_and_empty() -> None:
    """The second one has the partitions."""
    group = Group()
    assert [group.beat("a") for _ in range(3)] == [(1, 0), (2, 4), (2, 4)]


def test_targets_count_from_the_next_heartbeat_of_any_member() -> None:
    """A new member gets the epoch of the present targets; with the next heartbeat of any member the new targets are used."""
    group = Group()
    group.beat("a")
    group.beat("a")
    assert group.beat("b") == (2, 0)
    assert group.beat("a") == (2, 2)
    assert group.beat("a") == (3, 2)
    assert group.beat("b") == (3, 2)


def test_members_share_and_a_static_one_comes_back() -> None:
    """With members of this library through sockets, a restart moves nothing, as without the setting."""
    with (
        EmbeddedKafka(topics={"orders": 4}, settings=OFFLOADING) as embedded,
        member(embedded, "consumer", Heard(), group_instance_id="one") as one,
    ):
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        with member(embedded, "consumer", Heard(), group_instance_id="two") as two:
            one.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)
            two.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)
            share = two.snapshot.owned
        with member(embedded, "consumer", Heard(), group_instance_id="two") as two:
            two.wait_until(lambda snapshot: snapshot.owned == share, PATIENCE_S)


@pytest.mark.parametrize("made_by", [Consumer, confluent_kafka.Consumer], ids=["ours", "confluent"])
def test_consumers_read(made_by: Any) -> None:
    """Consumers of both libraries start at the beginning, because nothing is committed."""
    with EmbeddedKafka(topics={"orders": 4}, settings=OFFLOADING) as embedded:
        producer = confluent_kafka.Producer({"bootstrap.servers": embedded.bootstrap_servers})
        producer.produce("orders", "pears")
        assert producer.flush(PATIENCE_S) == 0
        config = {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop", "group.protocol": "consumer"}
        consumer = made_by({**config, "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        found: list[Any] = []

        def has_read() -> bool:
            found.extend(consumer.consume(1, 0.1))
            return bool(found)

        embedded.wait_for(has_read, PATIENCE_S)
        consumer.close()
        assert [message.value() for message in found] == [b"pears"]
