"""Members by load, from the least loaded up."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence


class Ladder:
    """Equally loaded members stand in the order of their places.

    A member on its rung is one number, load times members plus place: that sorts, and can be found, without tuples.
    """

    def __init__(self, wants: Sequence[frozenset[str]], loads: Sequence[int]) -> None:
        self.wants = wants
        self.loads = list(loads)
        self._rungs = sorted(load * len(loads) + place for place, load in enumerate(loads))
        self._least: dict[str, int] = {}

    def shift(self, place: int, by: int) -> None:
        """That member has this many more partitions."""
        members = len(self.loads)
        rung = self.loads[place] * members + place
        del self._rungs[bisect_left(self._rungs, rung)]
        insort(self._rungs, rung + by * members)
        self.loads[place] += by
        self._least.clear()

    def upwards(self, topic: str) -> Iterator[int]:
        """Who wants the topic."""
        members = len(self.loads)
        return (place for rung in self._rungs if topic in self.wants[place := rung % members])

    def least(self, topic: str) -> int:
        """The member with the fewest partitions of all that want the topic; there is one. Remembered until a load changes."""
        place = self._least.get(topic)
        if place is None:
            place = self._least[topic] = next(self.upwards(topic))
        return place

    @property
    def is_even(self) -> bool:
        """No member has two more than another."""
        members = len(self.loads)
        return self._rungs[-1] // members - self._rungs[0] // members <= 1
