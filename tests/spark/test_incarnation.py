"""Which incarnation of a slot is the newer one, and how that is read off a client id."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from membership_client_spark.incarnation import Incarnation, next_driver_epoch

NUMBERS = st.integers(0, 2**40)


def test_the_driver_counts_before_the_attempt() -> None:
    """Attempts start again at 0 with a new driver, which is newer all the same."""
    assert Incarnation(2, 0) > Incarnation(1, 99) > Incarnation(1, 98)


@given(NUMBERS, NUMBERS, st.text())
def test_a_client_id_tells_the_incarnation(driver: int, attempt: int, name: str) -> None:
    """Whatever the name, also one that looks like an incarnation itself."""
    who = Incarnation(driver, attempt)
    assert Incarnation.of_client(who.client_id(f"{name}@1.2-0".replace("\n", ""))) == who


def test_client_ids_of_others_tell_nothing() -> None:
    """A member that is not one of ours has no incarnation."""
    assert [Incarnation.of_client(text) for text in ("", "rdkafka", "a@b", "a@1", "a@1.x", "a@1.2.3@")] == [None] * 6


def test_a_driver_is_newer_than_every_driver_the_group_knows() -> None:
    """Also than one whose clock was ahead of ours."""
    ahead = Incarnation(time.time_ns() // 1_000_000 + 10_000_000, 3)
    assert next_driver_epoch([ahead.client_id("orders-0"), "stranger"]) == ahead.driver_epoch + 1
    assert next_driver_epoch([]) < ahead.driver_epoch


@pytest.mark.parametrize(
    "client_id",
    [
        f"orders-0@{'9' * 5_000}.1",
        f"orders-0@1.{'9' * 5_000}",
        f"orders-0@{'9' * 16}.1",
        f"orders-0@1.{'9' * 20}",
        "orders-0@\u0661.1",
        "orders-0@1.\u00b2",
    ],
)
def test_numbers_that_no_driver_counts_to_are_a_strangers(client_id: str) -> None:
    """A stranger with a client.id of 5,000 digits stopped every driver of the group: Python does not read such numbers."""
    assert Incarnation.of_client(client_id) is None
    assert next_driver_epoch([client_id]) < 10**13


def test_a_driver_that_follows_the_last_epoch_can_still_be_recognized() -> None:
    """One more would have a digit too many: slots of the next driver would not know it for one of ours."""
    last = Incarnation(10**15 - 1, 0)
    mine = Incarnation(next_driver_epoch([last.client_id("orders-0")]), 1)
    assert Incarnation.of_client(mine.client_id("orders-0")) == mine
    assert mine > last
