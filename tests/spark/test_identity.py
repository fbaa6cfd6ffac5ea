"""Which instance ids slots get, and which names are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from membership_client_spark import slot_instance_id

NAMES = st.from_regex(r"[a-zA-Z0-9._-]{1,200}", fullmatch=True)
SLOTS = st.integers(min_value=0, max_value=10**6)


def test_an_instance_id_is_the_name_and_the_slot() -> None:
    """The id can be read back by people: job name, dash, slot number."""
    assert slot_instance_id("orders", 3) == "orders-3"


@given(name=NAMES, first=SLOTS, second=SLOTS)
def test_slots_of_one_job_differ(name: str, first: int, second: int) -> None:
    """Two slots of one job share an instance id only if they are the same slot."""
    assert (slot_instance_id(name, first) == slot_instance_id(name, second)) is (first == second)


@pytest.mark.parametrize("name", ["a b", "ä", "a/b", "a\n", "a:b"])
def test_a_name_with_other_characters_is_refused(name: str) -> None:
    """Kafka would refuse the member later; we refuse the name at once."""
    with pytest.raises(ValueError, match="letters, digits"):
        slot_instance_id(name, 0)


def test_an_empty_name_is_refused() -> None:
    """Identity is never guessed."""
    with pytest.raises(ValueError, match="empty"):
        slot_instance_id("", 0)


def test_a_negative_slot_is_refused() -> None:
    """Slots are numbered from 0."""
    with pytest.raises(ValueError, match="a whole number from 0"):
        slot_instance_id("orders", -1)


@pytest.mark.parametrize("name", [".", ".."])
def test_dots_alone_become_a_valid_id(name: str) -> None:
    """Kafka forbids the ids "." and ".."; with a slot number appended neither can arise."""
    assert slot_instance_id(name, 0) == f"{name}-0"


def test_the_longest_id_has_249_characters() -> None:
    """The limit counts the slot number as well."""
    assert len(slot_instance_id("a" * 247, 0)) == 249
    with pytest.raises(ValueError, match="1 to 249"):
        slot_instance_id("a" * 247, 10)
