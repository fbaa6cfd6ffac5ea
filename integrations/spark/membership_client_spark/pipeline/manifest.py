"""The manifest of an epoch: what a sink keeps with the rows, to go on from there; and the names of attempts to write one."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from membership_client import MembershipError, TopicPartition
from membership_client_spark.pipeline.ranges import OffsetRange

_VERSION = 1
_INT = 2**31 - 1
_LONG = 2**63 - 1
"""The greatest partition and the greatest offset that Kafka can write."""


class ManifestError(MembershipError):
    """A manifest cannot be read, so it is not known which records the sink has."""

    advice = "Restore it, or start with a new path; guessing would lose or repeat records."


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of one epoch. `ends` has all partitions of all epochs so far, so only the newest manifest is needed."""

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
    def from_text(cls, text: str, epoch: int | None = None) -> Manifest:
        """ManifestError if it is no manifest, not that of this epoch, or of another version."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"This is not a manifest: {text[:200]!r}.") from error
        _check(isinstance(content, dict), "it is no JSON object", text)
        version = content.get("version")
        _check(_is_number(version, 1, _LONG), f"it has the version {version!r}", text)
        if version != _VERSION:
            raise ManifestError(f"The manifest has version {version}; this release reads {_VERSION}.")
        _check(_is_number(content.get("epoch"), 1, _LONG), f"its epoch is {content.get('epoch')!r}", text)
        if epoch not in (content["epoch"], None):
            raise ManifestError(
                f"The manifest is of epoch {content['epoch']}, but is in the directory of epoch {epoch}."
            )
        for key in ("group", "run"):
            _check(_is_name(content.get(key)), f"its {key} is {content.get(key)!r}", text)
        ranges, ends = _ranges(content.get("ranges"), text), _ends(content.get("ends"), text)
        _check(with_ranges(ends, ranges) == ends, "its ends are not where its ranges end", text)
        return cls(epoch=content["epoch"], group=content["group"], run=content["run"], ranges=ranges, ends=ends)


def _ranges(content: Any, text: str) -> tuple[OffsetRange, ...]:
    _check(isinstance(content, list), "it has no list of ranges", text)
    for piece in content:
        is_range = isinstance(piece, list) and len(piece) == 4 and _is_place(piece) and _is_number(piece[3], 0, _LONG)
        _check(is_range and _is_number(piece[2], 0, piece[3]), f"{piece!r} is no range of offsets", text)
    return tuple(OffsetRange(*piece) for piece in content)


def _ends(content: Any, text: str) -> dict[TopicPartition, int]:
    _check(isinstance(content, list), "it has no list of ends", text)
    for end in content:
        is_end = isinstance(end, list) and len(end) == 3 and _is_place(end) and _is_number(end[2], 0, _LONG)
        _check(is_end, f"{end!r} is no end of a partition", text)
    ends = {TopicPartition(topic, partition): end for topic, partition, end in content}
    _check(len(ends) == len(content), "it has two ends of one partition", text)
    return ends


def _is_place(content: list[Any]) -> bool:
    return _is_name(content[0]) and _is_number(content[1], 0, _INT)


def _is_name(content: Any) -> bool:
    return isinstance(content, str) and content != ""


def _is_number(content: Any, least: int, most: int) -> bool:
    """Exactly an int: in Python True is an int too, and 3.0 equals 3."""
    return type(content) is int and least <= content <= most


def _check(holds: bool, complaint: str, text: str) -> None:
    if not holds:
        raise ManifestError(f"This is not a manifest, {complaint[:200]}: {text[:200]!r}.")


def with_ranges(ends: Mapping[TopicPartition, int], ranges: Iterable[OffsetRange]) -> dict[TopicPartition, int]:
    """The ends after an epoch with these ranges."""
    return {**ends, **{TopicPartition(piece.topic, piece.partition): piece.end for piece in ranges}}


def find_manifest(newest_first: Iterable[Manifest], epoch: int, group: str) -> Manifest | None:
    """That of this epoch; or one of another group, if it is found before; None if there is neither.

    Epochs of one group grow, so the search ends at the first older one.
    """
    for found in newest_first:
        if found.group != group or found.epoch == epoch:
            return found
        if found.epoch < epoch:
            return None
    return None


# --- the name of one attempt to write an epoch ------------------------------------------------------------------------


def new_attempt(epoch: int, group: str) -> str:
    """A name that no other attempt has."""
    return f"{epoch}-{_mark_of(group)}-{uuid.uuid4().hex}"


def is_attempt_of(group: str, name: str) -> bool:
    """Whether `new_attempt` made that name for that group."""
    return re.fullmatch(rf"\d+-{_mark_of(group)}-[0-9a-f]{{32}}", name) is not None


def _mark_of(group: str) -> str:
    """A hash of the group's name, which may have characters that file systems refuse."""
    return hashlib.sha256(group.encode()).hexdigest()[:16]
