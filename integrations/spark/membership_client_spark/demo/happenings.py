"""What can happen in a demonstration, as values, and the list of it. `at` is the monotonic clock of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from membership_client.demo.kit import GroupSeen, Remark


@dataclass(frozen=True, slots=True)
class SlotShare:
    """One slot and the partitions its member owns."""

    instance_id: str
    partitions: tuple[int, ...]


# --- what the driver says --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReady:
    """Spark's driver runs."""

    at: float
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochBegan:
    at: float
    epoch: int
    slots: tuple[SlotShare, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCommitted:
    at: float
    epoch: int
    records: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AllRead:
    """The pipeline has ended by itself."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a reader of the Parquet files finds."""

    at: float
    rows: int
    distinct: int
    """Different orders among them that were produced."""
    revenue_cents: int
    """Over all customers and epochs of the aggregates."""


Said = SessionReady | EpochBegan | EpochCommitted | AllRead | Counted


# --- what the demonstration does and sees itself ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    at: float
    records: int
    cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStarted:
    at: float
    executor: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorKilled:
    """By us, while that epoch was under way."""

    at: float
    executor: str
    pid: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorGone:
    """It runs no more, by our hand or not."""

    at: float
    executor: str


Happening = Said | Remark | Produced | ExecutorStarted | ExecutorKilled | ExecutorGone | GroupSeen


# --- the list of them ------------------------------------------------------------------------------------------------

Watcher = Callable[[Happening], None]


class PipelineRecording:
    """Begins empty."""

    def __init__(self, watcher: Watcher) -> None:
        self.happenings: list[Happening] = []
        self._watcher = watcher

    def add(self, happening: Happening) -> None:
        self.happenings.append(happening)
        self._watcher(happening)

    def remark(self, text: str) -> None:
        """A sentence of the demonstration's own."""
        self.add(Remark(at=time.monotonic(), text=text))
