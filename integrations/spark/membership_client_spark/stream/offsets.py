"""What Spark's checkpoint has of one batch: its ranges, and where each partition is read on after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from membership_client import TopicPartition
from membership_client_spark.pipeline.ranges import OffsetRange

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """The end of a batch, in Spark's words. It has the batch's plan, so that a repeated batch reads the same records."""

    batch: int = 0
    """Counts the batches with records. 0: nothing was planned yet."""
    ends: Mapping[TopicPartition, int] = field(default_factory=lambda: _NOTHING)
    """The next offset of each partition that is known."""
    starts: Mapping[TopicPartition, int] = field(default_factory=lambda: _NOTHING)
    """Where the batch begins, for the partitions that have records in it."""
    topic_ids: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(OffsetRange(*place, start, self.ends[place]) for place, start in sorted(self.starts.items()))

    def after(self, ranges: tuple[OffsetRange, ...], topic_ids: Mapping[str, str]) -> StreamOffset:
        """The end of the next batch, which has these ranges."""
        places = {TopicPartition(one.topic, one.partition): one for one in ranges}
        return StreamOffset(
            batch=self.batch + 1,
            ends={**self.ends, **{place: one.end for place, one in places.items()}},
            starts={place: one.start for place, one in places.items()},
            topic_ids={**self.topic_ids, **topic_ids},
        )

    def to_json(self) -> dict[str, Any]:
        """`offsets` is written as Spark's own Kafka source writes offsets."""
        return {
            "offsets": _by_topic(self.ends),
            "batch": {"number": self.batch, "from": _by_topic(self.starts)},
            "topic.ids": dict(sorted(self.topic_ids.items())),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> StreamOffset:
        return cls(
            batch=found["batch"]["number"],
            ends=_by_place(found["offsets"]),
            starts=_by_place(found["batch"]["from"]),
            topic_ids=found["topic.ids"],
        )


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for place, offset in sorted(offsets.items()):
        found[place.topic][str(place.partition)] = offset
    return dict(found)


def _by_place(offsets: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, int(number)): at for topic, known in offsets.items() for number, at in known.items()}
