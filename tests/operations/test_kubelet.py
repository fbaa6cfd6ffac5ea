"""The actions of a kubelet on the pods of a StatefulSet, with real processes: there is no rebalance."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.health.probing import status
from tests.integration.members import eventually
from tests.operations.pods import Pod

pytestmark = [pytest.mark.deep, pytest.mark.kafka]

NAMES = ("till-0", "till-1", "till-2")


class Fleet:
    """A StatefulSet of three pods, its group, and the coordinator's view of it."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self._kafka = kafka
        self._admin = ClusterAdmin(kafka.bootstrap_servers)
        self.group = f"kubelet-{uuid.uuid4().hex[:8]}"
        self.topic = f"{self.group}-topic"
        self._admin.create_topic(self.topic, 6)
        self.pods = {name: self.start(name) for name in NAMES}

    def start(self, name: str, work: str = "pass") -> Pod:
        return Pod(name, self._kafka.bootstrap_servers, self.topic, self.group, work)

    def stable(self) -> None:
        for pod in self.pods.values():
            pod.await_ready()
        eventually(lambda: all(count == 2 for count in self.shares().values()), "each pod has its two partitions")

    def replace(self, *names: str, work: str = "pass") -> None:
        """Start new pods under the old names."""
        for name in names:
            self.pods[name] = self.start(name, work)
        self.stable()

    def shares(self) -> dict[str, int]:
        members = self._admin.describe(self.group).members
        return {str(member.instance_id): len(member.current) for member in members}

    def epoch(self) -> int:
        """The group's epoch, which every rebalance raises."""
        return self._admin.describe(self.group).epoch

    def produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._kafka.bootstrap_servers, "log_level": 0})
        for partition in range(6):
            producer.produce(self.topic, b"order", partition=partition)
        producer.flush()

    def close(self) -> None:
        for pod in self.pods.values():
            pod.kill()


@pytest.fixture
def fleet(kafka: KafkaCluster) -> Iterator[Fleet]:
    fleet = Fleet(kafka)
    try:
        fleet.stable()
        yield fleet
    finally:
        fleet.close()


def test_a_rolling_update(fleet: Fleet) -> None:
    """Each pod gets SIGTERM, ends within the grace period, and is replaced; when the replacement is ready, the next one follows, from the highest number down."""
    before = fleet.epoch()
    for name in reversed(NAMES):
        fleet.pods[name].terminate()
        fleet.pods[name].ended()
        assert fleet.pods[name].exit_code == 0
        fleet.replace(name)
    assert fleet.epoch() == before


def test_a_container_that_is_killed(fleet: Fleet) -> None:
    """The kernel kills it, out of memory. The replacement does not wait for the session of 45 s."""
    before = fleet.epoch()
    fleet.pods["till-1"].kill()
    fleet.replace("till-1")
    assert fleet.epoch() == before


def test_a_grace_period_that_is_too_short(fleet: Fleet, tmp_path: Path) -> None:
    """A record takes longer than the grace period: the pod is killed, and the replacement gets the record again."""
    before, seen = fleet.epoch(), tmp_path / "seen"
    note = f"open({str(seen)!r}, 'a').write(f'{{message.partition()}}@{{message.offset()}}\\n')"
    fleet.pods["till-2"].terminate()
    fleet.pods["till-2"].ended()
    fleet.replace("till-2", work=f"{note}; __import__('time').sleep(60)")
    fleet.produce()
    eventually(seen.exists, "the pod has a record in hand")
    fleet.pods["till-2"].terminate()
    assert fleet.pods["till-2"].ended(grace_s=2.0) >= 2.0
    assert fleet.pods["till-2"].exit_code == -9
    fleet.replace("till-2", work=note)
    first = seen.read_text().splitlines()[0]
    eventually(lambda: seen.read_text().splitlines().count(first) == 2, "the record comes again")
    assert fleet.epoch() == before


def test_two_pods_at_once(fleet: Fleet) -> None:
    """A node is drained."""
    before = fleet.epoch()
    for name in ("till-0", "till-1"):
        fleet.pods[name].terminate()
    for name in ("till-0", "till-1"):
        fleet.pods[name].ended()
    fleet.replace("till-0", "till-1")
    assert fleet.epoch() == before


def test_two_pods_of_one_name(fleet: Fleet) -> None:
    """A pod was deleted by force, and runs on where no one can reach it: the new pod takes over, and the old one ends."""
    before, old = fleet.epoch(), fleet.pods["till-0"]
    fleet.replace("till-0")
    eventually(lambda: old.exit_code is not None or status(old.port, "/livez") == 503, "the old pod is not live")
    old.ended(grace_s=20.0)
    assert old.exit_code == 1
    assert fleet.epoch() == before
