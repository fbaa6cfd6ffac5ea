"""What can happen in a demonstration, as values, and the list of it. `at` is the monotonic clock of the machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

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
class EpochDone:
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


DriverReport = SessionReady | EpochBegan | EpochDone | AllRead | Counted


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


DemoEvent = DriverReport | Remark | Produced | ExecutorStarted | ExecutorKilled | ExecutorGone | GroupSeen


# --- the list of them ------------------------------------------------------------------------------------------------

Watcher = Callable[[DemoEvent], None]


class PipelineRecording:
    """All that happened so far; the watcher is called with each new value. Belongs to one thread."""

    def __init__(self, watcher: Watcher) -> None:
        self.events: list[DemoEvent] = []
        self._watcher = watcher

    def add(self, event: DemoEvent) -> None:
        self.events.append(event)
        self._watcher(event)

    def remark(self, text: str) -> None:
        """A sentence of the demonstration's own."""
        self.add(Remark(at=time.monotonic(), text=text))


# --- messages between the driver's process and the demonstration: one JSON object per line, both ways ----------------

_KINDS = {kind.__name__: kind for kind in (SessionReady, EpochBegan, EpochDone, AllRead, Counted)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverTask:
    """What the driver reads, and where it writes."""

    bootstrap_servers: str
    directory: str
    python_path: str
    records: int
    max_records: int


def encode_task(task: DriverTask) -> str:
    return json.dumps(asdict(task))


def decode_task(text: str) -> DriverTask:
    return DriverTask(**json.loads(text))


def encode_report(said: DriverReport) -> str:
    return json.dumps({"kind": type(said).__name__, **asdict(said)})


def decode_report(line: str) -> DriverReport:
    fields: dict[str, Any] = json.loads(line)
    kind = _KINDS[fields.pop("kind")]
    if "slots" in fields:
        fields["slots"] = tuple(SlotShare(one["instance_id"], tuple(one["partitions"])) for one in fields["slots"])
    return kind(**fields)
