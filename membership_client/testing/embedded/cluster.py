"""All state of an embedded cluster, without clock and sockets."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.groups import Groups
from membership_client.testing.embedded.log import PartitionLog
from membership_client.testing.embedded.offsets import Offsets
from membership_client.testing.embedded.settings import BrokerSettings
from membership_client.testing.embedded.timers import Timers
from membership_client.testing.embedded.topics import Topics
from membership_client.testing.embedded.transactions import Transactions
from membership_client.testing.fake_topics import FakeTopic
from membership_client.types import Node

_MOST_BYTES = 256 * 2**20
"""The most bytes of records in memory."""


class Cluster:
    """Brokers with their topics, groups and transactions. Not thread-safe: use it under the lock of `EmbeddedKafka`."""

    def __init__(self, nodes: Iterable[Node], settings: BrokerSettings, racks: Mapping[int, str] | None = None) -> None:
        self.nodes = tuple(nodes)
        self.racks = racks or {}
        """Racks by broker number, of brokers with a rack."""
        self.settings = settings
        self.cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.timers = Timers()
        self.topics = Topics(_MOST_BYTES)
        self.offsets = Offsets()
        self.groups = Groups(self.topics, self.offsets, settings)
        self.transactions = Transactions(self.topics, self.offsets, self.timers)
        self.coordinator = self.nodes[0]
        """The coordinator of all groups and transactions."""
        self.loading_until = float("-inf")

    def leader(self, partition: int) -> Node:
        return self.nodes[partition % len(self.nodes)]

    def find_log(self, topic: FakeTopic | None, partition: int, node_id: int) -> tuple[PartitionLog | None, int]:
        """The partition's records if that broker leads it; otherwise None and the error code of its answer."""
        log = None if topic is None else self.topics.log(topic, partition)
        if log is None:
            return None, Code.UNKNOWN_TOPIC_OR_PARTITION
        if self.leader(partition).node_id != node_id:
            return None, BrokerCode.NOT_LEADER_OR_FOLLOWER
        return log, 0

    def coordinator_error(self, node_id: int, now: float) -> int:
        """The error code of a broker that does not coordinate at that time; 0 if it does."""
        if node_id != self.coordinator.node_id:
            return Code.NOT_COORDINATOR
        return Code.COORDINATOR_LOAD_IN_PROGRESS if now < self.loading_until else 0

    def move_coordinator(self, to: Node, now: float, loading_s: float) -> None:
        """Make another broker the coordinator, after it has loaded groups and transactions. Waiting requests are refused."""
        self.coordinator = to
        self.loading_until = now + loading_s
        self.groups.restart(self.loading_until)

    def delete_topic(self, name: str) -> None:
        """Delete the topic and the offsets that groups committed for it."""
        self.topics.delete(name)
        self.offsets.forget_topic(name)

    def deadline(self) -> float:
        """When the next timer expires."""
        clock = self.groups.deadline()
        # Timers of groups do not run while a coordinator loads them.
        return min(self.timers.deadline(), max(clock, self.loading_until))

    def advance(self, now: float) -> None:
        """Carry out what is due."""
        self.timers.run(now)
        if now >= self.loading_until:
            self.groups.advance(now)
