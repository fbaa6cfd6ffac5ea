"""A program: calls of a Consumer, in an order, by threads that take turns. All of it is values, so a seed can make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import OFFSET_INVALID


class Place(NamedTuple):
    """A partition, with the topic's number instead of its name, and maybe an offset."""

    topic: int
    partition: int
    offset: int = OFFSET_INVALID
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One call. `call` names a method of the player."""

    thread: int
    call: str
    arguments: tuple[object, ...] = ()

    def __str__(self) -> str:
        return f"{'ABC'[self.thread]}: {self.call}({', '.join(map(_shown, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Program:
    seed: int
    config: tuple[tuple[str, object], ...]
    topics: tuple[int, ...]
    """How many partitions each topic has."""
    steps: tuple[Step, ...]
    exact: bool = True
    """Is it known which consumer reads what? Not once a second one is there: then the group's outcome counts."""

    @property
    def ends_with_commits(self) -> bool:
        """Is it known what is committed in the end? See differences.py about cooperative-sticky groups."""
        return self.exact or dict(self.config).get("partition.assignment.strategy") != "cooperative-sticky"

    def config_of(self, key: str) -> object:
        return dict(self.config)[key]

    def __str__(self) -> str:
        lines = [f"program {self.seed}: topics of {self.topics} partitions, {dict(self.config)}", *map(str, self.steps)]
        return "\n  ".join(lines)


def _shown(argument: object) -> str:
    if isinstance(argument, Place):
        offset = "" if argument.offset == OFFSET_INVALID else f"@{argument.offset}"
        return f"{argument.topic}-{argument.partition}{offset}"
    if isinstance(argument, tuple):
        return f"[{', '.join(map(_shown, argument))}]"
    return repr(argument)
