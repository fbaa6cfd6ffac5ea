"""Runs made up by hand."""

from __future__ import annotations

from membership_client.demo.kit import GroupSeen
from membership_client_spark.demo.events import (
    AllRead,
    Counted,
    DemoEvent,
    EpochBegan,
    EpochDone,
    ExecutorGone,
    ExecutorKilled,
    ExecutorStarted,
    Produced,
    SessionReady,
    SlotShare,
)

SHARES = (SlotShare("s-0", (0, 1)), SlotShare("s-1", (2,)))
SWAPPED = (SlotShare("s-0", (2,)), SlotShare("s-1", (0, 1)))


def beginning() -> list[DemoEvent]:
    """Up to the middle of the second epoch."""
    return [
        Produced(at=1.0, records=20, cents=500),
        SessionReady(at=2.0, version="4"),
        ExecutorStarted(at=3.0, executor="0", pid=70),
        EpochBegan(at=4.0, epoch=1, slots=SHARES),
        GroupSeen(at=4.1, epoch=3, members=2),
        EpochDone(at=5.0, epoch=1, records=10, seconds=1.0),
    ]


def loss() -> list[DemoEvent]:
    return [ExecutorKilled(at=6.0, executor="0", pid=70, epoch=2), ExecutorGone(at=6.1, executor="0")]


def whole(
    *,
    lost: bool = True,
    rows: int = 20,
    distinct: int = 20,
    cents: int = 500,
    group_epoch: int | None = 3,
    slots: tuple[SlotShare, ...] = SHARES,
) -> list[DemoEvent]:
    """A run as it should be, except for what is said."""
    seen = [] if group_epoch is None else [GroupSeen(at=8.1, epoch=group_epoch, members=2)]
    return [
        *beginning(),
        EpochBegan(at=5.5, epoch=2, slots=slots),
        *(loss() if lost else []),
        EpochDone(at=7.0, epoch=2, records=10, seconds=1.5),
        AllRead(at=8.0),
        *seen,
        Counted(at=9.0, rows=rows, distinct=distinct, revenue_cents=cents),
    ]
