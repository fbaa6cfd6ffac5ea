"""Recordings made by hand, with short functions for their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from membership_client import MemberState
from membership_client.demo.events import (
    Called,
    Closed,
    ClusterReady,
    DemoEvent,
    ProcessEnded,
    ReasonsLogged,
    Seen,
    Started,
    StepBegan,
    StepEnded,
    StepKind,
)
from membership_client.demo.kit import GroupSeen

if TYPE_CHECKING:
    from collections.abc import Sequence

Recorded = list[DemoEvent]


def stage(partitions: int = 2) -> ClusterReady:
    return ClusterReady(at=0.0, title="nowhere", group="g", topic="t", partitions=partitions)


def began(at: float, kind: StepKind, members: Sequence[str], number: int = 1, of: int = 1) -> StepBegan:
    return StepBegan(at=at, number=number, of=of, kind=kind, title=kind.value, members=tuple(members))


def ended(at: float, *, number: int = 1, settled: bool = True) -> StepEnded:
    return StepEnded(at=at, number=number, settled=settled)


def started(at: float, name: str, pid: int) -> Started:
    return Started(at=at, name=name, pid=pid, instance_id=name)


def gone(at: float, name: str, pid: int, code: int = 0) -> ProcessEnded:
    return ProcessEnded(at=at, name=name, pid=pid, code=code)


def takes(at: float, name: str, pid: int, *partitions: int, cause: str = "joined: joined the group") -> Called:
    return Called(at=at, name=name, pid=pid, kind="assigned", partitions=partitions, epoch=1, cause=cause)


def gives(at: float, name: str, pid: int, *partitions: int, cause: str = "group changed: a new target") -> Called:
    return Called(at=at, name=name, pid=pid, kind="revoked", partitions=partitions, epoch=1, cause=cause)


def seen(at: float, name: str, pid: int, state: MemberState = MemberState.STABLE, epoch: int = 1) -> Seen:
    return Seen(
        at=at,
        name=name,
        pid=pid,
        state=state,
        epoch=epoch,
        owned=(),
        confirmed_at=at,
        interval_s=1.0,
        cause=None,
        error=None,
    )


def closed(at: float, name: str, pid: int, *, reason: str = "done", clean: bool = True) -> Closed:
    return Closed(at=at, name=name, pid=pid, clean=clean, reason=reason, outcome="confirmed")


def group(at: float, epoch: int, members: int = 2) -> GroupSeen:
    return GroupSeen(at=at, epoch=epoch, members=members)


def reasons(at: float, *texts: str) -> ReasonsLogged:
    return ReasonsLogged(at=at, reasons=texts)


def settled_pair() -> Recorded:
    """Two members, `a` (process 1) with partition 0 and `b` (process 2) with partition 1, at group epoch 3."""
    return [
        stage(),
        began(1, StepKind.JOIN, "ab", number=1, of=2),
        started(1.1, "a", 1),
        started(1.2, "b", 2),
        takes(2, "a", 1, 0),
        takes(2.1, "b", 2, 1),
        group(3, 3),
        ended(3.1, number=1),
    ]


def restart(*meanwhile: DemoEvent, epoch: int = 3, gets: tuple[int, ...] = (1,)) -> Recorded:
    """After `settled_pair`, `b` restarts as process 3, with these further events."""
    return [
        *settled_pair(),
        began(4, StepKind.RESTART, "b", number=2, of=2),
        gives(4.5, "b", 2, 1),
        gone(4.6, "b", 2),
        started(5, "b", 3),
        *meanwhile,
        takes(5.5, "b", 3, *gets),
        group(6, epoch),
        ended(6.1, number=2),
    ]
