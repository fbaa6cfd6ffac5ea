"""Patterns, which brokers evaluate every ten seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import TopicPartition

if TYPE_CHECKING:
    from tests.integration.members import Group

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_a_pattern_is_evaluated_by_the_brokers(group: Group) -> None:
    """All topics whose whole name matches, no others, and one that is created later as well."""
    unrelated = f"not-{group.topic}"
    group.create_topic(unrelated, 1)
    member = group.member()
    member.subscribe_pattern(f"{group.topic}.*")
    group.wait_for_shares([member], group.partitions(6))
    later = f"{group.topic}-later"
    group.create_topic(later, 2)
    # The coordinator looks for new topics every ten seconds at most.
    group.wait_for_shares(
        [member], group.partitions(6) | frozenset(TopicPartition(later, number) for number in range(2))
    )
    assert not member.listener.of("revoked")
