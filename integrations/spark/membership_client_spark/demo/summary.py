"""The summary: figures computed from the recording, and whether they are as expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from membership_client.demo.kit import GroupSeen
from membership_client_spark.demo.events import (
    Counted,
    DemoEvent,
    EpochBegan,
    EpochDone,
    ExecutorGone,
    ExecutorKilled,
    Produced,
)

Kind = TypeVar("Kind", bound=DemoEvent)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSummary:
    """`group_epochs` are the coordinator's, at the start of the first epoch and after the last one."""

    produced: int
    rows: int
    distinct: int
    produced_cents: int
    revenue_cents: int
    epochs: int
    read_again_in: tuple[int, ...]
    """Epochs in the middle of which an executor was killed."""
    executors_lost: int
    group_epochs: tuple[int, ...]
    moved: int
    """How often a slot had other partitions than in the epoch before."""

    @property
    def duplicates(self) -> int:
        return self.rows - self.distinct

    @property
    def missing(self) -> int:
        return self.produced - self.distinct

    @property
    def rebalances(self) -> int:
        return self.group_epochs[-1] - self.group_epochs[0] if self.group_epochs else 0

    @property
    def as_expected(self) -> bool:
        return not any(complaints(self))


def summarize(events: Sequence[DemoEvent]) -> PipelineSummary:
    produced, counted = _all(events, Produced), _all(events, Counted)
    shares = [began.slots for began in _all(events, EpochBegan)]
    return PipelineSummary(
        produced=sum(one.records for one in produced),
        rows=sum(one.rows for one in counted),
        distinct=sum(one.distinct for one in counted),
        produced_cents=sum(one.cents for one in produced),
        revenue_cents=sum(one.revenue_cents for one in counted),
        epochs=len(_all(events, EpochDone)),
        read_again_in=tuple(one.epoch for one in _all(events, ExecutorKilled)),
        executors_lost=len(_all(events, ExecutorGone)),
        group_epochs=tuple(one.epoch for one in _all(events, GroupSeen)),
        moved=sum(before != after for before, after in pairwise(shares)),
    )


def complaints(summary: PipelineSummary) -> Iterator[str]:
    """Sentences about what is not as expected."""
    if summary.missing:
        yield f"{summary.missing:,} orders are missing"
    if summary.duplicates:
        yield f"{summary.duplicates:,} rows are duplicates or of unknown orders"
    if summary.revenue_cents != summary.produced_cents:
        yield "the revenue per customer does not add up"
    if len(summary.group_epochs) < 2:
        yield "the coordinator was not asked before and after"
    if summary.rebalances:
        yield f"the group was rebalanced {summary.rebalances} times"
    if summary.moved:
        yield "slots had other partitions than before"
    if not summary.read_again_in or not summary.executors_lost:
        yield "no executor was lost, so nothing was shown"


def verdict(summary: PipelineSummary) -> str:
    """The last line."""
    if wrong := ", ".join(complaints(summary)):
        return f"NOT AS EXPECTED: {wrong}."
    return "An executor was lost; every order is there once, and the group did not notice."


def table_lines(summary: PipelineSummary) -> list[str]:
    """The figures, right-aligned behind their names."""
    rows = list(_rows(summary))
    wide, far = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [f"{name:<{wide}}  {value:>{far}}" for name, value in rows]


def _rows(summary: PipelineSummary) -> Iterator[tuple[str, str]]:
    killed = " ".join(map(str, summary.read_again_in)) or "none"
    yield "orders produced", f"{summary.produced:,}"
    yield "orders in the Parquet files", f"{summary.rows:,}"
    yield "duplicates", f"{summary.duplicates:,}"
    yield "missing", f"{summary.missing:,}"
    yield "revenue produced", f"{summary.produced_cents / 100:,.2f}"
    yield "revenue per customer, added up", f"{summary.revenue_cents / 100:,.2f}"
    yield "epochs", f"{summary.epochs}"
    yield "executors lost", f"{summary.executors_lost}"
    yield "in the middle of epoch", killed
    yield "group epoch before -> after", " -> ".join(map(str, summary.group_epochs)) or "unknown"
    yield "rebalances", f"{summary.rebalances}"


def _all(events: Iterable[DemoEvent], kind: type[Kind]) -> list[Kind]:
    return [one for one in events if isinstance(one, kind)]
