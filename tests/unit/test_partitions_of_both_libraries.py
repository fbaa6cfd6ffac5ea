"""A TopicPartition of confluent-kafka is taken wherever one of ours is, and the other way round."""

from __future__ import annotations

import subprocess
import sys

import confluent_kafka
import pytest
from confluent_kafka import KafkaException

from membership_client import ConfigError, GroupMember, Offset, TopicPartition
from membership_client.admin import Change, Given, Plan
from membership_client.admin.resetting import checked_plan, checked_target
from membership_client.arguments import checked_offsets, checked_partition, checked_partitions
from membership_client.consumer.arguments import as_place, as_places, checked_places

OURS = TopicPartition("orders", 3)
THEIRS = confluent_kafka.TopicPartition("orders", 3, 7)


def places(found: list[confluent_kafka.TopicPartition]) -> list[tuple[str, int, int]]:
    return [(one.topic, one.partition, one.offset) for one in found]


def test_theirs_where_ours_is_taken() -> None:
    """As a partition, in a list, as the key of an offset, of a target and of a planned change."""
    assert checked_partition(THEIRS) == OURS
    assert type(checked_partition(THEIRS)) is TopicPartition
    assert checked_partitions("partitions", [THEIRS, OURS]) == (OURS, OURS)
    assert checked_offsets({THEIRS: 5}) == {OURS: Offset(5)}
    assert checked_target(Given({THEIRS: 5})) == Given({OURS: 5})  # type: ignore[dict-item]
    planned = Plan("shop", (Change(partition=THEIRS, before=None, after=5),))  # type: ignore[arg-type]
    assert checked_plan(planned).changes == (Change(partition=OURS, before=None, after=5),)


def test_a_partition_of_theirs_that_none_can_be() -> None:
    """confluent-kafka takes any number, also -1 for no partition in particular."""
    with pytest.raises(ConfigError, match="The number of a partition of orders"):
        checked_partition(confluent_kafka.TopicPartition("orders", -1))
    with pytest.raises(ConfigError, match="The topic of a partition"):
        checked_partition(confluent_kafka.TopicPartition(""))


def test_a_member_is_asked_about_theirs() -> None:
    """A member that owns nothing says so, and refuses what is no partition."""
    with GroupMember({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop"}) as member:
        assert not member.owns(THEIRS)
        with pytest.raises(ConfigError):
            member.owns("orders")  # type: ignore[arg-type]


def test_ours_where_theirs_is_taken() -> None:
    """Ours become theirs without an offset; theirs keep the offset that they have."""
    assert places(checked_places([OURS, THEIRS])) == [("orders", 3, -1001), ("orders", 3, 7)]
    assert places(as_places([OURS])) == places([as_place(OURS)]) == [("orders", 3, -1001)]
    assert as_place(THEIRS) is THEIRS


@pytest.mark.parametrize("value", [None, 5, (OURS,), [("orders", 3)], "orders", [OURS, None]])
def test_what_is_no_list_of_partitions(value: object) -> None:
    """`as_places` leaves it to confluent-kafka's own method to refuse it; `checked_places` refuses it as both libraries."""
    with pytest.raises(KafkaException, match="Partitions are a list of TopicPartition"):
        checked_places(value)
    if not isinstance(value, list) or OURS not in value:
        assert as_places(value) is value


def test_our_checks_do_not_load_confluent_kafka() -> None:
    """A program that brings its own fetcher needs no librdkafka in memory."""
    program = (
        "import sys; from membership_client.arguments import checked_partition; "
        "checked_partition(('orders', 0)); assert 'confluent_kafka' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
