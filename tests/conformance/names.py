"""Symbols of a script, and what they are called on the broker it is played on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.fake_topics import FakeTopic
from tests.conformance.script import GroupName, Subscription

UNKNOWN_TOPIC = UUID(int=0xDEAD)


@dataclass(frozen=True, slots=True)
class Names:
    """Both players use the same names, so that their answers compare as they are, words included."""

    group_id: str
    prefix: str
    """Of every topic: a pattern must not match what other tests create."""
    topics: Mapping[str, FakeTopic]
    """By symbol."""

    def group(self, group: GroupName) -> str:
        return {GroupName.OWN: self.group_id, GroupName.EMPTY: "", GroupName.UNKNOWN: f"{self.group_id}-nobody"}[group]

    def after(self, symbol: str, topic: FakeTopic | None) -> Names:
        """That topic is another now, or gone."""
        others = {name: known for name, known in self.topics.items() if name != symbol}
        return replace(self, topics=others if topic is None else others | {symbol: topic})

    def topic_names(self, subscription: Subscription) -> tuple[str, ...]:
        return tuple(self.prefix + topic for topic in subscription.topics)

    def pattern(self, subscription: Subscription) -> str:
        return f"{self.prefix}(?:{subscription.pattern})" if subscription.pattern else ""

    def foreign(self, owned: Partitions) -> Partitions:
        """One partition of each topic that is not among these, and one of no topic at all."""
        others = {topic.topic_id: (topic.partitions - 1,) for topic in self.topics.values()}
        return (Partitions.of(others) | Partitions.of({UNKNOWN_TOPIC: (0,)})) - owned

    def partitions(self, partitions: Partitions) -> str:
        """For people: "bills 0 1, orders 5"."""
        symbols = {topic.topic_id: symbol for symbol, topic in self.topics.items()}
        parts = (
            f"{symbols.get(topic_id, 'unknown')} {' '.join(map(str, sorted(numbers)))}"
            for topic_id, numbers in partitions.by_topic.items()
        )
        return ", ".join(sorted(parts)) if partitions != NOTHING else "nothing"

    def symbolic(self, text: str) -> str:
        """A broker's words without the names that only this run has."""
        return text.replace(self.group_id, "group").replace(self.prefix, "")
