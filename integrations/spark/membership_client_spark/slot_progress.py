"""How each slot is doing: counted on its executor, about once a second, and collected on the driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import confluent_kafka

from membership_client import Consumer
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.tables import text_table

# --- on the driver ---------------------------------------------------------------------------------------------------

WAITING = "waiting for a free core"
"""The state of a slot before its first attempt has reported."""

_HEADS = ("slot", "executor", "host", "state", "partitions", "records/s", "lag", "restarts")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotProgress:
    """One slot at one moment. `heard_s` is how long ago it last reported; None if it never did."""

    slot: int
    incarnation: Incarnation | None = None
    executor: str | None = None
    host: str | None = None
    pid: int | None = None
    state: str = WAITING
    partitions: tuple[str, ...] = ()
    records: int = 0
    rate: float = 0.0
    lag: int = 0
    restarts: int = 0
    failure: str | None = None
    """How its last attempt failed; None once a newer one has reported."""
    heard_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTotals:
    """All slots of a job at one moment, with sums that never fall: those of removed slots count."""

    slots: tuple[SlotProgress, ...]
    records: int
    restarts: int


@dataclass(frozen=True, slots=True)
class _HeardProgress:
    progress: SlotProgress
    heard_at: float | None = None
    earlier_records: int = 0
    """Records of the incarnations before this one."""


class ProgressRegistry:
    """The progress of all slots, on the driver. Written by the arbiter's thread and by those of slot runners; read by any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[int, _HeardProgress] = {}
        self._removed_records = 0
        self._removed_restarts = 0

    def expect(self, slot: int) -> None:
        with self._lock:
            self._entries.setdefault(slot, _HeardProgress(SlotProgress(slot=slot)))

    def forget(self, slot: int) -> None:
        """The slot was removed."""
        with self._lock:
            entry = self._entries.pop(slot, None)
            if entry is not None:
                self._removed_records += entry.progress.records
                self._removed_restarts += entry.progress.restarts

    def hear(self, slot: int, who: Incarnation, message: dict[str, Any]) -> None:
        """Takes a claim or a report of this incarnation; those of an older incarnation are ignored."""
        with self._lock:
            entry = self._entries.get(slot)
            known = entry.progress.incarnation if entry else None
            if entry is None or (known is not None and who < known):
                return
            self._entries[slot] = (
                _reported(entry, message["report"]) if "report" in message else _claimed(entry, who, message)
            )

    def failed(self, slot: int, failure: str) -> None:
        with self._lock:
            entry = self._entries.get(slot)
            if entry is not None:
                self._entries[slot] = replace(entry, progress=replace(entry.progress, state="failed", failure=failure))

    def records(self, slot: int) -> int:
        """How many records the slot has handled, as of its last report."""
        with self._lock:
            entry = self._entries.get(slot)
            return entry.progress.records if entry else 0

    def progress(self) -> tuple[SlotProgress, ...]:
        with self._lock:
            return self._slots()

    def totals(self) -> SlotTotals:
        with self._lock:
            slots = self._slots()
            return SlotTotals(
                slots=slots,
                records=self._removed_records + sum(one.records for one in slots),
                restarts=self._removed_restarts + sum(one.restarts for one in slots),
            )

    def _slots(self) -> tuple[SlotProgress, ...]:
        now = time.monotonic()
        return tuple(
            replace(entry.progress, heard_s=None if entry.heard_at is None else now - entry.heard_at)
            for _, entry in sorted(self._entries.items())
        )


def _claimed(entry: _HeardProgress, who: Incarnation, claim: dict[str, Any]) -> _HeardProgress:
    before = entry.progress
    if before.incarnation == who:
        return replace(entry, heard_at=time.monotonic())
    progress = replace(
        before,
        incarnation=who,
        executor=claim.get("executor"),
        host=claim.get("host"),
        pid=claim.get("pid"),
        state="starting",
        partitions=(),
        rate=0.0,
        failure=None,
        restarts=before.restarts + (before.incarnation is not None),
    )
    return _HeardProgress(progress, time.monotonic(), before.records)


def _reported(entry: _HeardProgress, report: dict[str, Any]) -> _HeardProgress:
    progress = replace(
        entry.progress,
        state=report["state"],
        partitions=tuple(report["partitions"]),
        records=entry.earlier_records + report["records"],
        rate=report["rate"],
        lag=report["lag"],
    )
    return replace(entry, progress=progress, heard_at=time.monotonic())


def table(progress: Iterable[SlotProgress]) -> str:
    """A text table for people."""
    return text_table(_HEADS, list(map(_row, progress)))


def _row(one: SlotProgress) -> tuple[str, ...]:
    figures = (str(len(one.partitions)), f"{one.rate:,.0f}", f"{one.lag:,}", str(one.restarts))
    return (str(one.slot), one.executor or "-", one.host or "-", one.state, *figures)


# --- on the executor -------------------------------------------------------------------------------------------------

_EVERY_S = 1.0


class ProgressReporter:
    """Counts the records of a slot on its executor, for the driver. Belongs to the slot's thread."""

    def __init__(self) -> None:
        self._records = 0
        self._recent = 0
        self._since = time.monotonic()

    def count(self, records: int) -> None:
        self._records += records
        self._recent += records

    def is_due(self) -> bool:
        return time.monotonic() - self._since >= _EVERY_S

    def report(self, consumer: Consumer) -> dict[str, Any]:
        """The next report; its rate is since the last one."""
        now = time.monotonic()
        rate = self._recent / (now - self._since)
        self._recent, self._since = 0, now
        snapshot = consumer.snapshot
        return {
            "state": snapshot.state.value,
            "partitions": sorted(map(str, snapshot.owned)),
            "records": self._records,
            "rate": round(rate, 1),
            "lag": _lag(consumer),
        }


def _lag(consumer: Consumer) -> int:
    """The lag of the partitions whose end librdkafka has seen; no broker is asked."""
    return sum(
        max(0, consumer.get_watermark_offsets(place, cached=True)[1] - place.offset)
        for place in consumer.position(consumer.assignment())
        if place.offset != confluent_kafka.OFFSET_INVALID
    )
