"""How far each partition was read, where it ends, and where reading starts."""

from __future__ import annotations

import logging
import time
from collections.abc import Container, Mapping

from membership_client import TopicPartition
from membership_client_spark.errors import NoOffsetError, OffsetBeyondEndError, OffsetsGoneError
from membership_client_spark.pipeline.held import Holding
from membership_client_spark.pipeline.interface import Published
from membership_client_spark.pipeline.settings import Reset
from membership_client_spark.pipeline.slots import Slots, epoch_in
from membership_client_spark.pipeline.watermarks import Watermarks

_BEYOND_GRACE_S = 5.0
"""A new leader may need a moment until it knows where a partition ends."""

logger = logging.getLogger("membership_client_spark")


class Positions:
    """Belongs to the pipeline's thread; `lag` may be called on any."""

    def __init__(self, slots: Slots, watermarks: Watermarks, reset: Reset) -> None:
        self._slots = slots
        self._watermarks = watermarks
        self._reset = reset
        self._published: dict[TopicPartition, int] = {}
        self._at: dict[TopicPartition, int] = {}
        self._holdings: dict[TopicPartition, Holding] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._beyond_since: dict[TopicPartition, float] = {}
        self.last_epoch = 0
        """The greatest epoch in the sink or in a commit."""

    def resume(self, published: Published) -> None:
        """Starts again from what the sink has."""
        self._published = dict(published.ends)
        self._at = {}
        self.last_epoch = max(self.last_epoch, published.epoch)

    def look(self, holdings: Mapping[TopicPartition, Holding]) -> None:
        """Updates positions and ends for the partitions that are held now, from commits and brokers."""
        kept = {p for p, one in holdings.items() if self._holdings.get(p) == one and p in self._at}
        self._at = {place: self._at[place] for place in kept}
        self._beyond_since = {place: since for place, since in self._beyond_since.items() if place in kept}
        self._holdings = dict(holdings)
        self._ends = self._watermarks.ends(holdings)
        unread = {p for p, end in self._ends.items() if self._at.get(p) != end}
        begins = self._watermarks.begins(unread)
        self._start(begins)
        for place in begins.keys() & self._at.keys():
            self._keep_within(place, begins[place])

    def waiting(self) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Positions and ends of the partitions for which both are known."""
        places = self._at.keys() & self._ends.keys() - self._beyond_since.keys()
        return {place: self._at[place] for place in places}, {place: self._ends[place] for place in places}

    def published(self, ends: Mapping[TopicPartition, int]) -> None:
        """The sink has published an epoch up to these ends."""
        self._published.update(ends)

    def committed(self, ends: Mapping[TopicPartition, int], places: Container[TopicPartition]) -> None:
        """An epoch was committed for `places`; the positions of the others are looked up if they are assigned again."""
        self._at.update(ends)
        for place in ends:
            if place not in places:
                del self._at[place]

    def reached(self, goal: Mapping[TopicPartition, int]) -> frozenset[TopicPartition]:
        """The partitions of `goal` that were read as far as it says."""
        return frozenset(place for place, end in goal.items() if self._at.get(place, -1) >= end)

    def lag(self, place: TopicPartition) -> int:
        end, at = self._ends.get(place), self._at.get(place)
        return max(0, end - at) if end is not None and at is not None else 0

    def _start(self, begins: Mapping[TopicPartition, int]) -> None:
        new = begins.keys() - self._at.keys()
        for place, offset in self._slots.committed(new).items():
            self.last_epoch = max(self.last_epoch, epoch_in(offset))
            committed, published = offset.offset if offset else None, self._published.get(place)
            low, high = begins[place], self._ends[place]
            self._at[place] = start_of(place, published, committed, low=low, high=high, reset=self._reset)

    def _keep_within(self, place: TopicPartition, low: int) -> None:
        position, high = self._at[place], self._ends[place]
        self._at[place] = after_deletion(place, position, low=low, high=high, reset=self._reset)
        if self._at[place] != position:
            logger.warning("%s goes on at %s: offsets from %s on are gone", place, self._at[place], position)
        if self._at[place] <= high:
            self._beyond_since.pop(place, None)
        elif time.monotonic() - self._beyond_since.setdefault(place, time.monotonic()) >= _BEYOND_GRACE_S:
            # Another program may have committed an offset in a transaction that is still open.
            check_within(place, self._at[place], self._watermarks.last_ends([place]).get(place, position))


# --- where reading starts: pure, from what brokers said --------------------------------------------------------------


def start_of(
    place: TopicPartition, published: int | None, committed: int | None, *, low: int, high: int, reset: Reset
) -> int:
    """Where a newly assigned partition is read from: after what the sink has and what the group has committed.

    The sink is ahead if a driver ended between publishing and committing. The group is ahead if another member had the
    partition meanwhile; its records are not for this sink.
    """
    known = [offset for offset in (published, committed) if offset is not None]
    if known:
        return max(known)
    if reset == "error":
        raise NoOffsetError(f"No offset was committed for {place}, which has offsets {low} to {high}.")
    return low if reset == "earliest" else high


def after_deletion(place: TopicPartition, position: int, *, low: int, high: int, reset: Reset) -> int:
    """Where to go on if records before `low` were deleted; `position` if its record is still there."""
    if position >= low:
        return position
    if reset == "error":
        raise OffsetsGoneError(f"{place} should go on at {position}, but begins at {low}.")
    return low if reset == "earliest" else high


def check_within(place: TopicPartition, position: int, high: int) -> None:
    """OffsetBeyondEndError if the partition ends before its position."""
    if position > high:
        raise OffsetBeyondEndError(f"{place} should go on at {position}, but ends at {high}.")
