"""Members on an embedded cluster that record their callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from membership_client import CallbackContext, GroupMember, RebalanceListener
from membership_client.testing import EmbeddedKafka
from membership_client.types import TopicPartition

PATIENCE_S = 40.0
QUICK = {"group.consumer.heartbeat.interval.ms": 100, "group.consumer.assignment.interval.ms": 0}


class Heard(RebalanceListener):
    """All callbacks in their order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, frozenset[TopicPartition]]] = []

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self.calls.append(("assigned", frozenset(partitions)))

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self.calls.append(("revoked", frozenset(partitions)))

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self.calls.append(("lost", frozenset(partitions)))


def member(
    embedded: EmbeddedKafka, protocol: str, heard: Heard, topics: Sequence[str] = ("orders",), **more: Any
) -> GroupMember:
    """A member of the group "shop" that has subscribed."""
    beats = {"heartbeat_interval_ms": 100} if protocol == "classic" else {}
    settings = {"bootstrap_servers": embedded.bootstrap_servers, "group_id": "shop", "group_protocol": protocol}
    made = GroupMember({**settings, **beats, **more}, listener=heard)
    made.subscribe(topics)
    return made
