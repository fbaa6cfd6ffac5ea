"""How each client is told to speak the classic protocol with a certain assignor, quickly."""

from __future__ import annotations

from typing import Any

from tests.peers.peer import PeerKind

SHARED: dict[str, tuple[PeerKind, ...]] = {
    "range": ("ours", "confluent", "java"),
    "roundrobin": ("ours", "confluent", "java"),
    "sticky": ("ours", "java"),
    "cooperative-sticky": ("ours", "confluent", "java"),
}
"""Assignors, and the clients that know them."""

_JAVA = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}

# Long enough that nobody loses a session by accident on a machine that runs everything else at once; short enough that the
# test goes on when another client's farewell was lost there, for they do not wait for its answer.
SESSION_MS, BEAT_MS = 20_000, 200


def classic_settings(kind: PeerKind, strategy: str, *, session_ms: int = SESSION_MS) -> dict[str, Any]:
    if kind == "ours":
        return {
            "group_protocol": "classic",
            "partition_assignment_strategy": (strategy,),
            "session_timeout_ms": session_ms,
            "heartbeat_interval_ms": BEAT_MS,
        }
    name = f"org.apache.kafka.clients.consumer.{_JAVA[strategy]}" if kind == "java" else strategy
    timeouts = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": BEAT_MS}
    told = {key: str(value) if kind == "java" else value for key, value in timeouts.items()}
    return {"group.protocol": "classic", "partition.assignment.strategy": name, **told}
