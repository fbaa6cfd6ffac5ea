"""Plans the batches of one query with the query's members, and commits the offsets of batches that are complete."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

from membership_client import ConnectionProblem, NotOwnedError, OffsetTimeoutError, TopicPartition
from membership_client_spark.pipeline.held import Held, Holding
from membership_client_spark.pipeline.planning import NOTHING, EpochPlan, next_ranges, plan_of
from membership_client_spark.pipeline.positions import Positions, Watermarks, start_of
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.slots import Slots
from membership_client_spark.stream.offsets import StreamOffset
from membership_client_spark.stream.options import EARLIEST, LATEST, StreamSettings
from membership_client_spark.stream.topic_ids import TopicIds

logger = logging.getLogger("membership_client_spark")

_IDLE_S = 0.2
"""Between two checks for new records when there are none: Spark asks every 10 ms."""

_SETTLE_S = 30.0
_SETTLE_LOOK_S = 0.05


class Planner:
    """Belongs to one thread, that on which Spark calls its source. The members join when they are first needed.

    Spark calls `next` with the end of the newest batch that its checkpoint has as complete. So what `next` is given may be
    committed, and nothing else: Spark's own call of `commit` comes when the batch after that is planned.
    """

    def __init__(self, settings: StreamSettings) -> None:
        clients = settings.clients
        self._settings = settings
        self._held = Held()
        self._slots = Slots(clients.members, settings.topics, settings.name, self._held)
        self._watermarks = Watermarks(clients.clients, only_committed=clients.only_committed)
        # Partitions that a query meets later are new ones, and are read from their first record.
        self._positions = Positions(
            self._slots,
            self._watermarks,
            "earliest",
            deleted="error" if settings.fail_on_data_loss else "earliest",
        )
        self._first: StreamOffset | None = None
        self._planned: StreamOffset | None = None
        self._plan = NOTHING
        self._known: Mapping[TopicPartition, Holding] = {}
        """Partitions whose committed offsets are not behind the checkpoint."""
        self._ids = TopicIds(clients.clients, settings.topics)
        self._goal: Mapping[TopicPartition, int] | None = None
        self._is_open = False
        self._is_started = False
        self._look_at = 0.0

    # --- for Spark ---------------------------------------------------------------------------------------------------

    def aim_at_ends(self) -> None:
        """From now on nothing is planned that is not there yet, and `next` waits until there is something or all was read."""
        self._goal = self._watermarks.all_ends(self._watermarks.partitions(self._settings.topics))

    def first(self) -> StreamOffset:
        """Where a query without a checkpoint starts. The same at each call."""
        if self._first is None:
            self._open()
            self._first = self._start_of_query()
        return self._first

    def next(self, done: StreamOffset, limit: int | None) -> StreamOffset:
        """The end of the next batch, with at most `limit` offsets; `done` itself if there is nothing to read."""
        self._open()
        self._slots.check()
        self._commit_planned(done)
        if done == self._planned and self._goal is None and time.monotonic() < self._look_at:
            return done
        self._positions.published(done.ends)
        while True:
            plan = self._plan_or_nothing(done, limit)
            if plan.ranges:
                self._plan, self._planned = plan, done.after(plan.ranges, self._ids.known)
                return self._planned
            if self._goal is None or self._is_done(self._goal):
                self._planned, self._look_at = done, time.monotonic() + _IDLE_S
                return done
            self._held.wait_for_change(_IDLE_S)
            self._slots.check()

    def repeat(self, end: StreamOffset) -> None:
        """Spark reads the batch that ends there, for the first time or again after a restart."""
        if end == self._planned:
            return
        self._open()
        self._ids.check(end)
        self._planned = end
        # Only held fast: another member may have committed more meanwhile, so `_catch_up` compares before it commits.
        holdings = self._held.now()
        self._held.use({place: holdings[place] for place in end.starts if place in holdings})

    def ends(self) -> dict[TopicPartition, int]:
        """Where the partitions end that the members own, when that was last looked up."""
        return self._positions.waiting()[1]

    def close(self, reason: str | None) -> None:
        """All members leave temporarily: a query that starts again within the session timeout has the same partitions."""
        self._held.release()
        self._slots.close(reason)

    # --- the start ---------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if self._is_open:
            return
        self._watermarks.partitions(self._settings.topics)  # ConfigError for a topic that does not exist
        self._slots.open()
        self._slots.scale(self._settings.slots)
        give_up_at = time.monotonic() + _SETTLE_S
        while not self._slots.are_settled() and time.monotonic() < give_up_at:
            self._slots.check()
            self._held.wait_for_change(_SETTLE_LOOK_S)
        self._is_open = True

    def _start_of_query(self) -> StreamOffset:
        """Where the query starts in all partitions that exist now. Later partitions are read from their first record."""
        places = self._watermarks.partitions(self._settings.topics)
        lows, highs = self._watermarks.begins(places), self._watermarks.all_ends(places)
        committed = self._slots.committed(places)
        starts: dict[TopicPartition, int] = {}
        for place in places:
            wanted, offset = self._settings.starting_at(place), committed[place]
            named = {EARLIEST: lows[place], LATEST: highs[place]}
            known = (offset.offset if offset else None) if wanted is None else named.get(wanted, wanted)
            starts[place] = start_of(
                place, known, None, low=lows[place], high=highs[place], reset=self._settings.clients.reset
            )
        return StreamOffset(ends=starts, topic_ids=self._ids.now())

    # --- commits -----------------------------------------------------------------------------------------------------

    def _commit_planned(self, done: StreamOffset) -> None:
        """The planned batch is complete if Spark goes on at its end. Its partitions may be revoked after that."""
        if self._plan.ranges and done == self._planned:
            taken = self._try_commit(self._plan.ranges, self._plan.holdings, done.batch)
            self._positions.committed(self._plan.ends(), taken)
            self._known = {
                place: one for place, one in self._known.items() if place not in self._plan.ends().keys() - taken
            }
        self._plan = NOTHING
        self._held.release()

    def _catch_up(self, done: StreamOffset, holdings: Mapping[TopicPartition, Holding]) -> None:
        """For partitions that the members got since the last call: commits what the checkpoint has and the group has not.

        The last query may have ended, or no coordinator answered, in between. Of a new query that is where it starts, and
        then `startingOffsets` may be less than what the group has committed.
        """
        new = {place for place, one in holdings.items() if self._known.get(place) != one}
        if new:
            self._ids.check(done)
        committed = self._slots.committed(new & done.ends.keys())
        behind = {
            place
            for place, offset in committed.items()
            if offset is None or offset.offset < done.ends[place] or self._is_set_back(done, place)
        }
        ranges = [OffsetRange(*place, done.ends[place], done.ends[place]) for place in sorted(behind)]
        taken = self._try_commit(ranges, holdings, done.batch) if ranges else frozenset()
        self._known = {place: one for place, one in holdings.items() if place not in behind - taken}
        self._is_started = self._is_started or behind <= taken

    def _is_set_back(self, done: StreamOffset, place: TopicPartition) -> bool:
        """Whether a new query starts at a place that its options name, whatever the group has committed."""
        return not self._is_started and done == self._first and self._settings.starting_at(place) is not None

    def _try_commit(
        self, ranges: Iterable[OffsetRange], holdings: Mapping[TopicPartition, Holding], batch: int
    ) -> frozenset[TopicPartition]:
        try:
            return self._slots.commit(ranges, holdings, batch)
        except OffsetTimeoutError as error:
            logger.warning("[%s] batch %s cannot be committed now: %s", self._settings.name, batch, error)
            return frozenset()

    # --- the next batch ----------------------------------------------------------------------------------------------

    def _plan_or_nothing(self, done: StreamOffset, limit: int | None) -> EpochPlan:
        """Nothing while the coordinator or the brokers do not answer."""
        try:
            return self._next_plan(done, limit)
        except (NotOwnedError, OffsetTimeoutError, ConnectionProblem) as error:
            logger.warning("[%s] cannot plan a batch now: %s", self._settings.name, error)
            return NOTHING

    def _next_plan(self, done: StreamOffset, limit: int | None) -> EpochPlan:
        holdings = self._held.now()
        self._catch_up(done, holdings)
        if not self._is_started:  # The group could not be set back; what it has committed would count.
            return NOTHING
        self._positions.look(holdings)
        positions, ends = self._positions.waiting()
        if self._goal is not None:
            ends = {place: min(end, self._goal.get(place, 0)) for place, end in ends.items()}
        plan = plan_of(next_ranges(positions, ends, limit, done.batch), holdings)
        return plan.only(self._held.use(plan.holdings))

    def _is_done(self, goal: Mapping[TopicPartition, int]) -> bool:
        """Whether all records of the start were read, except those of partitions that other members own."""
        missing = goal.keys() - self._positions.reached(goal)
        return not missing or (self._slots.are_settled() and missing <= self._slots.others())
