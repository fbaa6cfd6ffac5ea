"""What a benchmark finds: one figure per line of the table, with the promise it is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.peers.peer import PeerKind


@dataclass(frozen=True, slots=True)
class Limit:
    """Ours is within these: numbers in the figure's unit, or parts of what a peer has in the same run."""

    at_most: float | None = None
    at_least: float | None = None
    of_confluent: bool = False
    of_java: bool = False

    def __str__(self) -> str:
        bounds = {"<=": self.at_most, ">=": self.at_least}
        told = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds.items() if bound is not None)
        return told + (" of confluent-kafka" if self.of_confluent else " of Java" if self.of_java else "")

    def allows(self, value: float) -> bool:
        low = self.at_least is None or value >= self.at_least
        return low and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing measured, for each client that can do it."""

    name: str
    unit: str
    values: Mapping[PeerKind, float]
    how: str
    """How it was measured, in a few words."""
    limit: Limit | None = None

    @property
    def ratio(self) -> float | None:
        """Ours to confluent-kafka's, or to Java's if that is promised, where both have a value."""
        peer: PeerKind = "java" if self.limit and self.limit.of_java else "confluent"
        ours, theirs = self.values.get("ours"), self.values.get(peer)
        return ours / theirs if ours is not None and theirs else None

    @property
    def met(self) -> bool | None:
        """Is the promise kept? None where nothing was promised."""
        if self.limit is None:
            return None
        value = self.ratio if self.limit.of_confluent or self.limit.of_java else self.values.get("ours")
        return value is not None and self.limit.allows(value)
