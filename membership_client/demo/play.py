"""The play itself: what is done to the members, step by step, and what each step waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from membership_client import LeaveMode
from membership_client.demo.happenings import StageSet, StepBegan, StepEnded, StepKind
from membership_client.demo.member_handle import MemberHandle
from membership_client.demo.wire import Leave, MemberRole

if TYPE_CHECKING:
    from membership_client.demo.board import Board
    from membership_client.demo.recording import Recording
    from membership_client.demo.stage import DemoCluster

A, B, C = "orders-a", "orders-b", "orders-c"

_INSTANCE_IDS: dict[str, str | None] = {A: None, B: B, C: C}
"""The first is a dynamic member, the others are static."""

_REASONS = {A: "scaled down", B: "its machine is drained", C: "the demonstration is over"}

_ABSENCE_S = 1.0
"""What a restart takes, and long enough to see that nobody else gets the partitions meanwhile."""
_DISMISSED_TIMEOUT_S = 3.0
_DWELL_S = 1.5
"""A look at what was reached, before the next step."""
_QUIET_BEATS = 2
"""A bystander that heard from the coordinator so often afterwards, and was told nothing, did not notice."""


@dataclass(frozen=True, slots=True)
class PlayStep:
    scene: StepKind
    title: str
    actors: tuple[str, ...]
    act: Callable[[], bool]
    """Does it, and says whether the group settled in time."""


class Play:
    """A context: at its end no member's process is left, however the play went."""

    def __init__(self, stage: DemoCluster, recording: Recording) -> None:
        self._stage = stage
        self._recording = recording
        self._actors: dict[str, MemberHandle] = {}
        self._processes: list[MemberHandle] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for actor in self._processes:
            actor.dismiss()
        for actor in self._processes:
            actor.join(_DISMISSED_TIMEOUT_S)

    def perform(self) -> None:
        """All steps in order; one whose group does not settle is the last."""
        stage = self._stage
        self._recording.add(
            StageSet(
                at=time.monotonic(),
                title=stage.title,
                group=stage.group,
                topic=stage.topic,
                partitions=stage.partitions,
            )
        )
        steps = self._steps()
        for number, step in enumerate(steps, 1):
            if not self._perform(step, number, len(steps)):
                break

    def _steps(self) -> list[PlayStep]:
        return [
            PlayStep(StepKind.JOIN, f"{A} and {B} join", (A, B), self._two_join),
            PlayStep(StepKind.LATE, f"{C} joins late", (C,), self._one_joins_late),
            PlayStep(StepKind.RESTART, f"{B}, a static member, restarts", (B,), self._one_restarts),
            PlayStep(
                StepKind.TAKEOVER,
                f"{C} is killed with SIGKILL; its replacement takes over",
                (C,),
                self._one_is_replaced,
            ),
            PlayStep(StepKind.LEAVE, "everyone leaves, with a reason", (A, B, C), self._all_leave),
        ]

    def _perform(self, step: PlayStep, number: int, of: int) -> bool:
        self._recording.add(
            StepBegan(at=time.monotonic(), number=number, of=of, scene=step.scene, title=step.title, actors=step.actors)
        )
        settled = step.act()
        if settled and (seen := self._stage.look()) is not None:
            self._recording.add(seen)
        self._recording.add(StepEnded(at=time.monotonic(), number=number, settled=settled))
        return settled

    # --- the steps ---------------------------------------------------------------------------------------------------

    def _two_join(self) -> bool:
        self._start(A)
        self._start(B)
        return self._settles({A, B}) and self._dwells()

    def _one_joins_late(self) -> bool:
        self._start(C)
        return self._settles({A, B, C}) and self._dwells()

    def _one_restarts(self) -> bool:
        self._actors[B].leave(Leave(LeaveMode.DEFAULT, "restarts for a new version"))
        self._actors[B].join()
        time.sleep(_ABSENCE_S)
        self._start(B)
        return self._settles({A, B, C}) and self._stays_quiet({A, C})

    def _one_is_replaced(self) -> bool:
        self._actors[C].kill()
        self._recording.remark("the coordinator still counts on the dead process, by default for 45 s")
        time.sleep(_ABSENCE_S)
        self._start(C, takes_over=True)
        return self._settles({A, B, C}) and self._stays_quiet({A, B})

    def _all_leave(self) -> bool:
        for name, actor in self._actors.items():
            actor.leave(Leave(LeaveMode.LEAVE, _REASONS[name]))
        for actor in self._actors.values():
            actor.join()
        if (logged := self._stage.reasons_logged()) is not None:
            self._recording.add(logged)
        return True

    # --- what steps are made of --------------------------------------------------------------------------------------

    def _start(self, name: str, *, takes_over: bool = False) -> None:
        role = MemberRole(
            name=name,
            bootstrap_servers=self._stage.bootstrap_servers,
            group=self._stage.group,
            topic=self._stage.topic,
            instance_id=_INSTANCE_IDS[name],
            takes_over=takes_over,
        )
        actor = MemberHandle(role, self._recording)
        self._processes.append(actor)
        self._actors[name] = actor
        actor.begin()

    def _settles(self, names: set[str]) -> bool:
        """Waits until these members share all partitions evenly and agree on the epoch."""
        partitions = self._stage.partitions
        return self._wait(names, lambda board: is_settled(board, names, partitions))

    def _dwells(self) -> bool:
        time.sleep(_DWELL_S)
        return True

    def _stays_quiet(self, names: set[str]) -> bool:
        """Waits until each of these heard from the coordinator again: had it anything to tell, it would have."""
        rows = self._recording.board.rows
        wanted = {name: rows[name].beats + _QUIET_BEATS for name in names}
        return self._wait(names, lambda board: all(board.rows[name].beats >= beats for name, beats in wanted.items()))

    def _wait(self, names: set[str], condition: Callable[[Board], bool]) -> bool:
        """False when the stage's patience ends, or at once when one of these members is beyond hope."""
        self._recording.wait(lambda board: condition(board) or has_failed(board, names), self._stage.patience_s)
        return condition(self._recording.board)


def is_settled(board: Board, names: set[str], partitions: int) -> bool:
    """Are these members stable at one epoch, and do they share all the partitions evenly?"""
    rows = [board.rows[name] for name in names]
    if len(board.owners) < partitions or not all(row.is_stable for row in rows):
        return False
    shares = [len(board.owned_by(name)) for name in names]
    return max(shares) - min(shares) <= 1 and len({row.seen.epoch for row in rows if row.seen}) == 1


def has_failed(board: Board, names: set[str]) -> bool:
    """Is waiting for them pointless?"""
    return any(board.rows[name].has_failed for name in names)
