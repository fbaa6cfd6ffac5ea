"""The topics of the cluster with their records and settings."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from uuid import UUID

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.log import PartitionLog
from membership_client.testing.fake_topics import FakeTopic, FakeTopics

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
MOST_PARTITIONS = 10_000
"""The most partitions of one topic. Each partition takes memory from the start."""
_CHECKS_PER_LIMIT = 16
_RANDOM_BITS = 96
"""The random bits of a topic's id. The other bits count the topics of a cluster."""


class TopicRefusedError(Exception):
    """A topic cannot be created, or grown, with these arguments."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = int(code)
        self.message = message


class Topics:
    """All topics. `known` are the topics as groups see them. If all records exceed `most_bytes`, the oldest of the largest partition are deleted."""

    def __init__(self, most_bytes: int) -> None:
        # Clients may remember a topic by its id alone, so topics of two clusters must have different ids.
        self.known = FakeTopics(first_id=secrets.randbits(_RANDOM_BITS) << (128 - _RANDOM_BITS))
        self.settings: dict[str, dict[str, str]] = {}
        self._most_bytes = most_bytes
        self._added = 0
        """Bytes that were added since the size of all records was last computed."""
        self._logs: dict[UUID, list[PartitionLog]] = {}
        self._names: dict[UUID, str] = {}

    def create(self, name: str, partitions: int, *, only_check: bool = False) -> None:
        """Create the topic, or only check whether it can be created. TopicRefusedError if not."""
        self.check_name(name)
        if name in self.known:
            raise TopicRefusedError(BrokerCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise TopicRefusedError(
                BrokerCode.INVALID_PARTITIONS, f"Number of partitions must be 1 to {MOST_PARTITIONS}."
            )
        if not only_check:
            topic_id = self.known.create(name, partitions)
            self._names[topic_id] = name
            self._logs[topic_id] = [PartitionLog() for _ in range(partitions)]

    @staticmethod
    def check_name(name: str) -> None:
        """TopicRefusedError if the name is not legal."""
        if not _LEGAL.fullmatch(name) or name in {".", ".."}:
            raise TopicRefusedError(
                BrokerCode.INVALID_TOPIC_EXCEPTION,
                "Topic name is invalid: it has 1 to 249 ASCII letters, digits, '.', '_' and '-'.",
            )

    def grow(self, name: str, partitions: int, *, only_check: bool = False) -> None:
        """Grow the topic to that many partitions, or only check whether that is possible. TopicRefusedError if not."""
        topic = self.find(name)
        if topic is None:
            raise TopicRefusedError(Code.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        if not topic.partitions < partitions <= MOST_PARTITIONS:
            raise TopicRefusedError(
                BrokerCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {topic.partitions} partition(s); {partitions} would not be an increase.",
            )
        if not only_check:
            self.known.grow(name, partitions)
            self._logs[topic.topic_id] += [PartitionLog() for _ in range(partitions - topic.partitions)]

    def delete(self, name: str) -> None:
        topic = self.known[name]
        self.known.delete(name)
        self.settings.pop(name, None)
        del self._names[topic.topic_id]
        for log in self._logs.pop(topic.topic_id):
            for watcher in tuple(log.watchers):
                watcher()

    def find(self, name: str) -> FakeTopic | None:
        return next(iter(self.known.known([name])), None)

    def find_by_id(self, topic_id: UUID | None) -> FakeTopic | None:
        name = None if topic_id is None else self._names.get(topic_id)
        return None if name is None else self.find(name)

    def log(self, topic: FakeTopic, partition: int) -> PartitionLog | None:
        logs = self._logs.get(topic.topic_id, [])
        return logs[partition] if 0 <= partition < len(logs) else None

    def make_room(self, added: int) -> None:
        """Delete the oldest records if all take too much memory. This is computed only now and then, because it reads all logs."""
        self._added += added
        if self._added * _CHECKS_PER_LIMIT < self._most_bytes:
            return
        self._added = 0
        while sum(log.size for log in self._all()) > self._most_bytes:
            max(self._all(), key=lambda log: log.size).drop_oldest()

    def _all(self) -> Iterator[PartitionLog]:
        return (log for logs in self._logs.values() for log in logs)
