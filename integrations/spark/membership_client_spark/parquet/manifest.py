"""What an epoch's directory says about itself, beside its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from membership_client import MembershipError, TopicPartition
from membership_client_spark.pipeline.ranges import OffsetRange

NAME = "_manifest.json"
"""The underscore keeps Spark from taking it for data."""

_VERSION = 1


class ManifestError(MembershipError):
    """A manifest cannot be read, so nobody knows what the sink has."""

    advice = "Restore it, or start with a new path; guessing would lose or repeat records."


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Of one epoch. `ends` is for all partitions that any epoch up to this one had, so that the newest one is enough."""

    epoch: int
    group: str
    run: str
    ranges: tuple[OffsetRange, ...]
    ends: Mapping[TopicPartition, int]

    def to_text(self) -> str:
        ends = [[*place, end] for place, end in sorted(self.ends.items())]
        about = {"version": _VERSION, "epoch": self.epoch, "group": self.group, "run": self.run}
        return json.dumps({**about, "ranges": [list(piece) for piece in self.ranges], "ends": ends})

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """ManifestError if it is not one, or a newer version's."""
        try:
            told = json.loads(text)
            if told["version"] != _VERSION:
                raise ManifestError(f"The manifest has version {told['version']}; this release reads {_VERSION}.")
            ends = {TopicPartition(topic, partition): end for topic, partition, end in told["ends"]}
            ranges = tuple(OffsetRange(*piece) for piece in told["ranges"])
            return cls(epoch=told["epoch"], group=told["group"], run=told["run"], ranges=ranges, ends=ends)
        except (KeyError, TypeError, ValueError) as error:
            raise ManifestError(f"This is not a manifest: {text[:200]!r}.") from error


def with_ranges(ends: Mapping[TopicPartition, int], ranges: Iterable[OffsetRange]) -> dict[TopicPartition, int]:
    """The ends after an epoch with these ranges."""
    return {**ends, **{TopicPartition(piece.topic, piece.partition): piece.end for piece in ranges}}
