"""Members of classic groups, and what their tests wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from membership_client import Consumer, MemberState
from membership_client.testing import KafkaCluster
from tests.integration.members import Group, WatchedMember, eventually, log_about

CLASSIC: dict[str, Any] = {
    "group_protocol": "classic",
    "heartbeat_interval_ms": 200,
    "session_timeout_ms": 10_000,
    "partition_assignment_strategy": ("range",),
}
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")


def classic(strategy: str = "range", **more: Any) -> dict[str, Any]:
    return CLASSIC | {"partition_assignment_strategy": (strategy,)} | more


def wait_shared(group: Group, members: Sequence[WatchedMember], count: int = 6) -> None:
    """Wait until these members own every partition once, all in one generation."""

    def shared() -> bool:
        snapshots = [member.snapshot for member in members]
        owned = sorted(partition for snapshot in snapshots for partition in snapshot.owned)
        settled = all(snapshot.state is MemberState.STABLE for snapshot in snapshots)
        return settled and len({s.epoch for s in snapshots}) == 1 and owned == sorted(group.partitions(count))

    eventually(shared, f"each of {count} partitions with one stable owner")


def rebalances(kafka: KafkaCluster, group: Group) -> int:
    """How often the broker began a rebalance, by its log."""
    return log_about(kafka, f"Preparing to rebalance group {group.id} ")().count("\n") + 1


def read(consumer: Consumer, count: int) -> list[bytes]:
    """The values of the next `count` records that it polls."""
    values: list[bytes] = []

    def all_read() -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            values.append(message.value() or b"")
        return len(values) == count

    eventually(all_read, f"{count} records")
    return values
