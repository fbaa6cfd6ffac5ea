"""Our quick way to copy a member says the same as the standard library's slow one."""

from __future__ import annotations

import dataclasses

import pytest

from membership_client.core.backoff import Backoff
from membership_client.core.member import Member
from membership_client.values import replace
from tests.core.play import config


def test_a_changed_copy_of_a_member() -> None:
    """The change and nothing else is different, and the original stays as it was."""
    member = Member(config=config(), member_id="me", epoch=3)
    assert replace(member, epoch=4) == dataclasses.replace(member, epoch=4) != member
    assert member.epoch == 3


def test_a_copy_is_as_frozen_as_its_original() -> None:
    """No field can be set on it."""
    copy = replace(Member(config=config(), member_id="me"), epoch=4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.epoch = 5  # type: ignore[misc]


def test_values_with_slots() -> None:
    """Copied as ever."""
    assert replace(Backoff(1, 2.0), failures=2) == Backoff(2, 2.0)
