"""No record passes before the coordinator has confirmed the member, however long that takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from membership_client import Consumer, FencedInstanceIdError, GroupMember, MemberState, Snapshot, TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import EmbeddedKafka
from membership_client_spark.slot import wait_until_confirmed
from tests.integration.members import eventually

INTERVAL_S = 5.0
OLD_S = 2.0
"""For a slot, when the interval is 0.1 s."""


@pytest.fixture(scope="module")
def stable() -> Snapshot:
    """Confirmed a second ago; made of a member that never joined, as only its shape matters."""
    with GroupMember({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop"}) as member:
        blank = member.snapshot
    return replace(blank, state=MemberState.STABLE, heartbeat_interval_s=INTERVAL_S, heartbeat_age_s=1.0)


def looking_at(*snapshots: Snapshot) -> tuple[Callable[[], Snapshot], list[Snapshot]]:
    """Shows one after the other, and those that were not looked at."""
    left = list(snapshots)
    return lambda: left.pop(0), left


def test_a_confirmed_member_does_not_wait(stable: Snapshot) -> None:
    """One look, and the records may pass."""
    look, left = looking_at(stable, stable)
    wait_until_confirmed(look, lambda: False)
    assert len(left) == 1


def test_an_old_confirmation_is_waited_out(stable: Snapshot) -> None:
    """Records were dropped here once, when a coordinator was away for longer than the grace period: they were lost."""
    old = replace(stable, heartbeat_age_s=INTERVAL_S + 30)
    never = replace(stable, heartbeat_age_s=None)
    look, left = looking_at(never, old, old, stable)
    wait_until_confirmed(look, lambda: False)
    assert left == []


@pytest.mark.parametrize("state", [MemberState.FENCED, MemberState.STALE])
def test_a_member_that_is_out_of_the_group_does_not_wait(stable: Snapshot, state: MemberState) -> None:
    """The bug: its Consumer was polled no more, so it never joined again, and the slot stood still for good."""
    out = replace(stable, state=state, heartbeat_age_s=INTERVAL_S + 30)
    wait_until_confirmed(lambda: out, lambda: False)


def test_records_of_a_consumer_that_was_thrown_out_are_nobodys() -> None:
    """As a slot sees them that was cut off for longer than its session, with records in hand: it drops them and goes on."""
    with EmbeddedKafka(topics={"orders": 1}, settings={"group.consumer.heartbeat.interval.ms": 100}) as kafka:
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        producer = Producer(servers)
        producer.produce("orders", "two pears")
        producer.flush()
        config = {**servers, "group.id": "shop", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        with Consumer(config) as consumer:
            consumer.subscribe(["orders"])
            eventually(lambda: consumer.poll(0.1), "a record")
            with GroupAdmin(kafka.bootstrap_servers) as admin:
                admin.remove("shop", [consumer.snapshot.member_id], force=True)
            eventually(lambda: consumer.snapshot.state is MemberState.FENCED, "the member knows that it is out")
            eventually(lambda: (consumer.snapshot.heartbeat_age_s or 0.0) > OLD_S, "the last confirmation is old")
            wait_until_confirmed(lambda: consumer.snapshot, lambda: False)
            assert consumer.owner_epoch(TopicPartition("orders", 0)) is None
            eventually(lambda: consumer.poll(0.1), "the record comes again")


def test_who_must_end_does_not_wait(stable: Snapshot) -> None:
    """A slot that is to end gives its records up: they are not committed."""
    old = replace(stable, heartbeat_age_s=INTERVAL_S + 30)
    wait_until_confirmed(lambda: old, lambda: True)


def test_the_end_of_the_member_is_raised(stable: Snapshot) -> None:
    """A fenced one does not wait for a confirmation that cannot come."""
    ended = replace(stable, state=MemberState.FATAL, error=FencedInstanceIdError("taken"))
    with pytest.raises(FencedInstanceIdError):
        wait_until_confirmed(lambda: ended, lambda: False)
