"""All state of an embedded cluster. Nothing here reads a clock or a socket."""

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
"""Of records."""


class Cluster:
    """Brokers with their topics, groups and transactions. Not thread-safe: use it under the lock of `EmbeddedKafka`."""

    def __init__(self, nodes: Iterable[Node], settings: BrokerSettings, racks: Mapping[int, str] | None = None) -> None:
        self.nodes = tuple(nodes)
        self.racks = racks or {}
        """By the numbers of the brokers that are in one."""
        self.settings = settings
        self.cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.timers = Timers()
        self.topics = Topics(_MOST_BYTES)
        self.offsets = Offsets()
        self.groups = Groups(self.topics, self.offsets, settings)
        self.transactions = Transactions(self.topics, self.offsets, self.timers)
        self.coordinator = self.nodes[0]
        """Of all groups and transactions."""
        self.loading_until = float("-inf")

    def leader(self, partition: int) -> Node:
        return self.nodes[partition % len(self.nodes)]

    def find_log(self, topic: FakeTopic | None, partition: int, node_id: int) -> tuple[PartitionLog | None, int]:
        """The partition's records where that broker leads it; otherwise the error code that it answers with."""
        log = None if topic is None else self.topics.log(topic, partition)
        if log is None:
            return None, Code.UNKNOWN_TOPIC_OR_PARTITION
        if self.leader(partition).node_id != node_id:
            return None, BrokerCode.NOT_LEADER_OR_FOLLOWER
        return log, 0

    def coordinator_error(self, node_id: int, now: float) -> int:
        """Why that broker does not coordinate at that time; 0 if it does."""
        if node_id != self.coordinator.node_id:
            return Code.NOT_COORDINATOR
        return Code.COORDINATOR_LOAD_IN_PROGRESS if now < self.loading_until else 0

    def move_coordinator(self, to: Node, now: float, loading_s: float) -> None:
        """Another broker reads groups and transactions from the log, and then coordinates. Answers held back are refused."""
        self.coordinator = to
        self.loading_until = now + loading_s
        self.groups.restart(self.loading_until)

    def delete_topic(self, name: str) -> None:
        """With the offsets that groups committed for it."""
        self.topics.delete(name)
        self.offsets.forget_topic(name)

    def deadline(self) -> float:
        """When something happens without a request."""
        clock = self.groups.deadline()
        # Clocks of groups stand still while a coordinator loads them.
        return min(self.timers.deadline(), max(clock, self.loading_until))

    def advance(self, now: float) -> None:
        """Let happen what is due."""
        self.timers.run(now)
        if now >= self.loading_until:
            self.groups.advance(now)
