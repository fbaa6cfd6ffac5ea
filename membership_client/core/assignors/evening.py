"""Moving single partitions from members with more to members with less, until no such move evens anything out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.core.assignors.ladder import Ladder
from membership_client.types import TopicPartition

_Route = tuple[str, int, int]
"""A topic, where a partition of it was at first, and where it is."""


class Evening:
    """Changes `owners` and the loads on the ladder. Every move makes the loads more even, so there is an end."""

    def __init__(
        self, owners: dict[TopicPartition, int], ladder: Ladder, earlier: Mapping[TopicPartition, int]
    ) -> None:
        self._owners = owners
        self._ladder = ladder
        self._earlier = earlier
        self._start: dict[TopicPartition, int] = {}
        self._moved: dict[_Route, set[TopicPartition]] = {}

    def even_out(self, partitions: Sequence[TopicPartition]) -> None:
        """Move these, and what moved before, as long as it helps."""
        moves = 1
        while moves and not self._ladder.is_even:
            moves = sum(map(self._improve, partitions))

    def _improve(self, partition: TopicPartition) -> bool:
        """Move it, or one like it, if a member that wants it has two fewer than its owner."""
        loads = self._ladder.loads
        low = loads[self._owners[partition]] - 1
        place = self._earlier.get(partition)
        # Back to who had it earlier, rather than to a stranger.
        if place is None or loads[place] >= low or partition.topic not in self._ladder.wants[place]:
            place = self._ladder.least(partition.topic)
        if loads[place] >= low:
            return False
        self._move(self._instead_of(partition, place), place)
        return True

    def _instead_of(self, partition: TopicPartition, to: int) -> TopicPartition:
        """If one of the same topic came the opposite way, that one goes back: one move undone instead of a second made."""
        came = self._moved.get((partition.topic, to, self._owners[partition]))
        return min(came) if came else partition

    def _move(self, partition: TopicPartition, to: int) -> None:
        place = self._owners[partition]
        start = self._start.setdefault(partition, place)
        self._moved.get((partition.topic, start, place), set()).discard(partition)
        if start != to:
            self._moved.setdefault((partition.topic, start, to), set()).add(partition)
        self._owners[partition] = to
        self._ladder.shift(place, -1)
        self._ladder.shift(to, +1)
