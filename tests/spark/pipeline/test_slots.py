"""The slots of a pipeline commit one after the other, each under the ownership that its epoch was planned under."""

from __future__ import annotations

import pytest

from membership_client import MemberState, Offset, TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin, KafkaCluster
from membership_client_spark.pipeline.held import Held, Holding
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.slots import Ownership, Slots
from tests.integration.members import PATIENCE_S, QUICK, eventually
from tests.records import filled_topic

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

BEHIND, AHEAD = 100, 200


class SlowSlots(Slots):
    """While the first slot commits, the other one is thrown out, comes back, and finds that its partition went on."""

    troubled = False

    def _commit(
        self, slot: int, offsets: dict[TopicPartition, Offset], ownership: Ownership
    ) -> frozenset[TopicPartition]:
        if not self.troubled:
            self.troubled = True
            self._trouble(1 - slot)
        return super()._commit(slot, offsets, ownership)

    def _trouble(self, slot: int) -> None:
        member, old, group = self._members[slot], self._held.now(), self._config["group.id"]
        (place,) = [place for place, one in old.items() if one.slot == slot]
        settings = ClusterAdmin(self._config["bootstrap.servers"])
        # Until it is back nothing is given away: else the other slot would have both partitions meanwhile.
        settings.set_group_config(group, **QUICK | {"consumer_assignment_interval_ms": 15_000})
        with GroupAdmin(self._config["bootstrap.servers"]) as admin:
            admin.remove(group, [member.snapshot.instance_id or ""], force=True, watch_s=0.0)
        eventually(lambda: place not in self._held.now(), "the partition is lost")
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        settings.set_group_config(group, **QUICK)
        eventually(lambda: place in self._held.now(), "the partition comes back")
        assert self._held.now()[place] != old[place]
        member.wait_until(lambda now: now.state is MemberState.STABLE and place in now.owned, PATIENCE_S)
        member.commit({place: AHEAD})


def by_slot(held: Held) -> dict[int, list[tuple[TopicPartition, Holding]]]:
    """Each slot with what it holds, once both have a partition."""
    found: dict[int, list[tuple[TopicPartition, Holding]]] = {0: [], 1: []}
    for place, one in held.now().items():
        found[one.slot].append((place, one))
    return found if all(len(places) == 1 for places in found.values()) else {}


def test_a_slot_that_lost_its_partition_while_another_one_committed_commits_nothing(kafka: KafkaCluster) -> None:
    """Only before the first commit was it looked whether partitions are still held: the group was set back by 100."""
    topic = filled_topic(kafka.bootstrap_servers, "slow-slots", partitions=2, records=2)
    held = Held()
    slots = SlowSlots({"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic}, [topic], "slow", held)
    slots.open()
    slots.scale(2)
    try:
        eventually(lambda: by_slot(held) and slots.are_settled(), "a partition for each slot")
        holdings = held.now()
        ranges = [OffsetRange(topic, place.partition, 0, BEHIND) for place in sorted(holdings)]
        done = slots.commit(ranges, holdings, 1)
        committed = {place: offset.offset for place, offset in slots.committed(set(holdings)).items() if offset}
    finally:
        slots.close(None)
    assert len(done) == 1
    assert sorted(committed.values()) == [BEHIND, AHEAD]
    assert committed[next(iter(done))] == BEHIND
