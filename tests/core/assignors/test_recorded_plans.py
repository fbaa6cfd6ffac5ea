"""The same plans as Kafka's own assignors, for groups whose plans were recorded: no JVM is needed to compare them."""

from __future__ import annotations

import pytest

from membership_client.core.assignors.registry import BUILT_IN
from tests.core.assignors.recorded import recorded


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_plans_are_those_of_java(name: str) -> None:
    """Leaders in Python and in Java take turns: each difference would move partitions when the leader changes."""
    records = [record for record in recorded() if name in record.plans]
    assert len(records) > 80
    for record in records:
        assert record.group.plan(BUILT_IN[name]) == record.plans[name], record.group
