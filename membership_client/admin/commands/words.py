"""Partitions in words."""

from __future__ import annotations

from collections.abc import Iterable

from membership_client.partition_text import shares
from membership_client.types import TopicPartition


def named(partitions: Iterable[TopicPartition]) -> str:
    """`bills[0] orders[0-3,7]`."""
    return " ".join(shares(partitions)) or "nothing"
