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


# --- reports of the driver --------------------------------------------------------------------------------------------


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
    """What is in the Parquet files."""

    at: float
    rows: int
    distinct: int
    """How many different orders of those that were produced are among the rows."""
    revenue_cents: int
    """The sum over all customers and epochs."""


DriverReport = SessionReady | EpochBegan | EpochCommitted | AllRead | Counted


# --- what the demonstration itself does and sees ---------------------------------------------------------------------


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
    """The demonstration killed it while that epoch was running."""

    at: float
    executor: str
    pid: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorGone:
    """It does not run any more; the demonstration killed it, or it ended otherwise."""

    at: float
    executor: str


Happening = DriverReport | Remark | Produced | ExecutorStarted | ExecutorKilled | ExecutorGone | GroupSeen


# --- the list of them ------------------------------------------------------------------------------------------------

Watcher = Callable[[Happening], None]


class PipelineRecording:
    """All that happened so far; the watcher is called with each new value. Belongs to one thread."""

    def __init__(self, watcher: Watcher) -> None:
        self.happenings: list[Happening] = []
        self._watcher = watcher

    def add(self, happening: Happening) -> None:
        self.happenings.append(happening)
        self._watcher(happening)

    def remark(self, text: str) -> None:
        """A sentence of the demonstration's own."""
        self.add(Remark(at=time.monotonic(), text=text))
