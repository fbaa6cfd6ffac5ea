"""What cannot be written in Kafka's format is refused where it is given, by a sentence that names it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from membership_client import ConfigError, GroupMember, Offset, OffsetError, TopicPartition
from membership_client.arguments import checked_offsets, checked_partition, checked_timeout_s

PLACE = TopicPartition("orders", 0)


NO_PAIRS = ("orders", ("orders",), ("orders", 0, 0), ["orders", 0], None, 5)
NO_NUMBERS = (("orders", number) for number in ("0", 0.0, True, None, -1, 2**31))
NO_NAMES = ((topic, 0) for topic in ("", None, b"orders", "\ud800"))


@pytest.mark.parametrize("value", [*NO_PAIRS, *NO_NUMBERS, *NO_NAMES])
def test_what_is_no_partition(value: object) -> None:
    """A float used to end the membership thread."""
    with pytest.raises(ConfigError, match="partition"):
        checked_partition(value)


NO_OFFSETS: tuple[Any, ...] = (123.0, -1, 2**63, True, None, "7", math.nan)
NO_LEADER_EPOCHS: tuple[Any, ...] = (2**31, -1, 1.5, False)
NO_METADATA: tuple[Any, ...] = ("\ud800", None, b"bytes")


@pytest.mark.parametrize(
    "value",
    [
        *NO_OFFSETS,
        *map(Offset, NO_OFFSETS),
        *(Offset(7, leader_epoch=epoch) for epoch in NO_LEADER_EPOCHS),
        *(Offset(7, metadata=text) for text in NO_METADATA),
    ],
    ids=ascii,
)
def test_what_cannot_be_committed(value: object) -> None:
    """The sentence names the partition, because there may be many."""
    with pytest.raises(ConfigError, match="of orders-0"):
        checked_offsets({PLACE: value})


@pytest.mark.parametrize("value", [None, [PLACE], "orders", 5])
def test_what_is_no_mapping(value: object) -> None:
    """As when a list of partitions is given, which other clients take."""
    with pytest.raises(ConfigError, match="mapping of partitions to offsets"):
        checked_offsets(value)


def test_pairs_and_numbers_will_do() -> None:
    """An application without leader epochs and metadata need not know our classes; the largest values fit."""
    largest = Offset(2**63 - 1, 2**31 - 1, "käse")
    assert checked_offsets({("orders", 0): 7, ("orders", 2**31 - 1): largest}) == {
        PLACE: Offset(7),
        TopicPartition("orders", 2**31 - 1): largest,
    }


@pytest.mark.parametrize("value", [math.nan, "1", None, True, [1]])
def test_what_is_no_timeout(value: object) -> None:
    """Not a number used to wait for ever."""
    with pytest.raises(ConfigError, match="timeout_s is a number of seconds"):
        checked_timeout_s(value)


@pytest.mark.parametrize(("value", "expected"), [(-5, 0.0), (3, 3.0), (0.5, 0.5)])
def test_the_rest_of_a_budget_may_be_negative(value: float, expected: float) -> None:
    """It is no time at all then."""
    assert checked_timeout_s(value) == expected


@pytest.mark.parametrize("value", [math.inf, 1e300])
def test_more_than_threads_can_wait_is_as_long_as_they_can(value: float) -> None:
    """Queues raise OverflowError for it."""
    assert 1e6 < checked_timeout_s(value) < math.inf


@pytest.mark.parametrize(("method", "places"), [("commit", {PLACE: 7}), ("committed", [PLACE])])
def test_offsets_before_the_first_subscription(method: str, places: object) -> None:
    """A member that never subscribed has no thread yet: the call used to wait for its whole timeout."""
    with (
        GroupMember({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop"}) as member,
        pytest.raises(OffsetError, match=r"subscribe\(\) first"),
    ):
        getattr(member, method)(places, timeout_s=60.0)
