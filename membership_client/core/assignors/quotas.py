"""Equal shares in the making: who may still take how much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from membership_client.types import TopicPartition


class Quotas:
    """Everybody is to have `low` partitions, and `extra` of the members one more.

    First `admit` each place in order, then take partitions out of the pool for `lacking` and `level`.
    """

    def __init__(self, shares: Sequence[list[TopicPartition]], low: int, extra: int) -> None:
        self.shares = shares
        self.low = low
        self._extra = extra
        self.lacking: list[int] = []
        """Who has less than the low quota."""
        self.level: list[int] = []
        """Who has exactly that, and may get one of the extra ones."""

    def admit(self, place: int) -> int:
        """Sort in who comes with a share; how much of it may it keep?"""
        held = len(self.shares[place])
        if held < self.low:
            self.lacking.append(place)
            return held
        if held > self.low and self._extra:
            self.spend_extra()
            return self.low + 1
        if self._extra:
            self.level.append(place)
        return self.low

    def spend_extra(self) -> None:
        """A member got one partition more than the low quota. After the last of these no member at that quota may grow."""
        self._extra -= 1
        if not self._extra:
            self.level.clear()

    def reach_level(self, place: int) -> None:
        """A member that had less has the low quota now."""
        if self._extra:
            self.level.append(place)

    def fill(self, pool: Iterable[TopicPartition]) -> None:
        """Give the rest in rounds to members below the low quota, then one each to the others. It comes out even."""
        queue = iter(pool)
        while self.lacking:
            # All rounds at once in which they are the same.
            rounds = self.low - max(len(self.shares[place]) for place in self.lacking)
            given = list(islice(queue, rounds * len(self.lacking)))
            for turn, place in enumerate(self.lacking):
                self.shares[place] += given[turn :: len(self.lacking)]
            self.level += [place for place in self.lacking if len(self.shares[place]) == self.low]
            self.lacking = [place for place in self.lacking if len(self.shares[place]) < self.low]
        for place, partition in zip(self.level, queue, strict=False):
            self.shares[place].append(partition)
