"""Which incarnation of a slot is the newer one, and how that is read off a client id."""

from __future__ import annotations

import time

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
