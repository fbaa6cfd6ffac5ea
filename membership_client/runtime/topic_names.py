"""What topics are called, known to all members of a process.

A topic id is unique for ever and its topic is never renamed, so what one member has learned serves every other. Asking is
not cheap: brokers answer with all partitions of a topic, and a thousand members of one process would each ask for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

_MOST = 100_000


class TopicNames:
    """Any thread. Forgets everything when it is full, which costs one question per topic."""

    def __init__(self) -> None:
        self._names: dict[UUID, str] = {}

    def learn(self, names: Mapping[UUID, str]) -> None:
        if len(self._names) + len(names) > _MOST:
            self._names = {}
        self._names.update(names)

    def all_of(self, topic_ids: frozenset[UUID]) -> dict[UUID, str] | None:
        """Their names; None unless every one of them is known."""
        names = self._names
        known = {topic: names[topic] for topic in topic_ids if topic in names}
        return known if len(known) == len(topic_ids) else None
