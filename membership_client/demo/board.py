"""The present moment of a demonstration, folded from what happened so far."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from membership_client import MemberState
from membership_client.demo.happenings import (
    Called,
    Happening,
    ProcessEnded,
    Seen,
    StageSet,
    Started,
    StepBegan,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One member: its newest process, and what that last said."""

    name: str
    pid: int
    instance_id: str | None
    seen: Seen | None = None
    beats: int = 0
    """How often the coordinator confirmed this process."""
    exit_code: int | None = None

    @property
    def is_stable(self) -> bool:
        return self.exit_code is None and self.seen is not None and self.seen.state is MemberState.STABLE

    @property
    def has_failed(self) -> bool:
        """It will not get anywhere any more: dead, or ended by a fatal error."""
        return self.exit_code is not None or (self.seen is not None and self.seen.state is MemberState.FATAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """All members and all partitions at one moment."""

    stage: StageSet | None = None
    step: StepBegan | None = None
    rows: Mapping[str, Row] = field(default_factory=lambda: MappingProxyType({}))
    owners: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    def owned_by(self, name: str) -> tuple[int, ...]:
        return tuple(sorted(partition for partition, owner in self.owners.items() if owner == name))


def board_of(happenings: Iterable[Happening]) -> Board:
    return functools.reduce(advance, happenings, Board())


def advance(board: Board, happening: Happening) -> Board:
    """The board after one more thing happened."""
    match happening:
        case StageSet():
            return replace(board, stage=happening)
        case StepBegan():
            return replace(board, step=happening)
        case Called():
            return replace(board, owners=_owners_after(board.owners, happening))
        case Started() | Seen() | ProcessEnded():
            rows = {**board.rows, happening.name: _row_after(board.rows.get(happening.name), happening)}
            return replace(board, rows=rows, owners=_survivors(board.owners, happening))
        case _:
            return board


def _row_after(row: Row | None, happening: Started | Seen | ProcessEnded) -> Row:
    if isinstance(happening, Started):
        return Row(name=happening.name, pid=happening.pid, instance_id=happening.instance_id)
    assert row is not None, f"{happening.name} speaks before it started"
    return replace(row, exit_code=happening.code) if isinstance(happening, ProcessEnded) else _look(row, happening)


def _look(row: Row, seen: Seen) -> Row:
    confirmed = seen.confirmed_at is not None and (row.seen is None or seen.confirmed_at != row.seen.confirmed_at)
    return replace(row, seen=seen, beats=row.beats + confirmed)


def _owners_after(owners: Mapping[int, str], called: Called) -> Mapping[int, str]:
    """Lines of two processes may arrive in the wrong order, so only an owner can give up."""
    if called.kind == "assigned":
        return {**owners, **dict.fromkeys(called.partitions, called.name)}
    gone = {partition for partition in called.partitions if owners.get(partition) == called.name}
    return {partition: owner for partition, owner in owners.items() if partition not in gone}


def _survivors(owners: Mapping[int, str], happening: Started | Seen | ProcessEnded) -> Mapping[int, str]:
    """A process that ends owns nothing any more."""
    if not isinstance(happening, ProcessEnded):
        return owners
    return {partition: owner for partition, owner in owners.items() if owner != happening.name}
