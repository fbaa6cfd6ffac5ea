"""How far each partition was read, where reading starts, and where partitions begin and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Container, Iterable, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from membership_client import ConfigError, ConnectionProblem, Offset, TopicPartition
from membership_client_spark.errors import NoOffsetError, OffsetBeyondEndError, OffsetsGoneError
from membership_client_spark.pipeline.held import Holding
from membership_client_spark.pipeline.interface import Published
from membership_client_spark.pipeline.settings import Reset
from membership_client_spark.pipeline.slots import Slots, epoch_in

_BEYOND_GRACE_S = 5.0
"""A new leader may need a moment until it knows where a partition ends."""

logger = logging.getLogger("membership_client_spark")


class Positions:
    """Belongs to the pipeline's thread; `lag` may be called on any."""

    def __init__(self, slots: Slots, watermarks: Watermarks, reset: Reset, *, deleted: Reset | None = None) -> None:
        """`deleted` says where to go on after records that were deleted; as `reset` if it is None."""
        self._slots = slots
        self._watermarks = watermarks
        self._reset = reset
        self._deleted = deleted or reset
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
        self._at[place] = after_deletion(place, position, low=low, high=high, reset=self._deleted)
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


def is_reached(
    goal: Mapping[TopicPartition, int],
    begins: Mapping[TopicPartition, int],
    committed: Mapping[TopicPartition, Offset],
    reset: Reset,
) -> bool:
    """Whether nothing waits before these ends: the group has committed just them, or there never was a record.

    Anything else, such as a commit beyond the end, takes a member to look at it.
    """
    return all(
        committed[place].offset == end
        if place in committed
        else end == 0 and begins.get(place) == 0 and reset != "error"
        for place, end in goal.items()
    )


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


# --- where partitions begin and end, asked of the brokers for all partitions at once ---------------------------------

_TIMEOUT_S = 30.0
_AGAIN_S = 0.2
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]


class Watermarks:
    """Blocks while it asks. A partition without a leader is left out of the result, and logged."""

    def __init__(self, clients: Mapping[str, Any], *, only_committed: bool) -> None:
        self._config = {**clients, "log_level": 0}
        self._admin = AdminClient(self._config)
        self._troubled: dict[TopicPartition, str] = {}
        self._ends_seen = IsolationLevel.READ_COMMITTED if only_committed else IsolationLevel.READ_UNCOMMITTED

    def partitions(self, topics: Iterable[str]) -> frozenset[TopicPartition]:
        """All partitions of the topics. ConfigError for a topic that does not exist."""
        try:
            found = {topic: self._admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic] for topic in topics}
        except KafkaException as error:
            raise ConnectionProblem(f"The topics cannot be looked up: {error}.") from error
        if missing := sorted(topic for topic, known in found.items() if known.error):
            raise ConfigError(f"There is no topic {', '.join(missing)}. Create it, or correct topics.")
        return frozenset(TopicPartition(topic, number) for topic, known in found.items() for number in known.partitions)

    def begins(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that was not deleted."""
        return self._ask(places, _EARLIEST, IsolationLevel.READ_UNCOMMITTED)

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last one that may be read."""
        return self._ask(places, _LATEST, self._ends_seen)

    def all_ends(self, places: frozenset[TopicPartition]) -> dict[TopicPartition, int]:
        """As `ends`, for each of them. ConnectionProblem if one has no leader for 30 s."""
        give_up_at = time.monotonic() + _TIMEOUT_S
        while (found := self.ends(places)).keys() != places:
            if time.monotonic() > give_up_at:
                missing = ", ".join(map(str, sorted(places - found.keys())))
                raise ConnectionProblem(
                    f"No leader told within {_TIMEOUT_S:g} s where these partitions end: {missing}."
                )
            time.sleep(_AGAIN_S)
        return found

    def last_ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """As `ends`, with the records of open transactions."""
        return self._ask(places, _LATEST, IsolationLevel.READ_UNCOMMITTED)

    def _ask(
        self, places: Iterable[TopicPartition], which: OffsetSpec, isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        wanted = {confluent_kafka.TopicPartition(*place): which for place in places}
        if not wanted:
            return {}
        answers = self._admin.list_offsets(wanted, isolation_level=isolation, request_timeout=_TIMEOUT_S)
        found, troubled = dict[TopicPartition, int](), dict[TopicPartition, str]()
        for answered, answer in answers.items():
            place = TopicPartition(answered.topic, answered.partition)
            try:
                found[place] = answer.result().offset
            except KafkaException as error:
                troubled[place] = str(error)
        self._note_problems(troubled)
        return found

    def _note_problems(self, troubled: dict[TopicPartition, str]) -> None:
        """Logs each problem once, and makes a new client: the old one may never learn of new leaders."""
        for place in sorted(troubled.keys() - self._troubled.keys()):
            logger.warning("the offsets of %s cannot be looked up: %s", place, troubled[place])
        self._troubled = troubled
        if troubled:
            self._admin = AdminClient(self._config)
