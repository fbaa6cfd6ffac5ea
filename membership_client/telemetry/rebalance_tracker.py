"""Turns the steps of one member into facts: where its rebalances begin and end, and what lies between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from membership_client.core.events import CallbackKind, CallbackReturned
from membership_client.core.exception_summary import raised_by
from membership_client.core.machine import Step
from membership_client.core.member import RunningCall
from membership_client.telemetry.facts import (
    CallbackEnded,
    CauseChanged,
    Fact,
    Fenced,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceFailed,
)
from membership_client.telemetry.phases import at_rest, outcome_of, phase_of
from membership_client.types import Cause, CauseKind, MemberState

S = MemberState

CRASHED = "crashed"


class RebalanceTracker:
    """`follow` and `give_up` belong to the thread that owns the member; `settled_at` may be read by any."""

    def __init__(self) -> None:
        self.settled_at: float | None = None
        """When the last rebalance ended."""
        self._began: RebalanceBegan | None = None
        self._phase: PhaseBegan | None = None
        self._epoch = 0

    def follow(self, step: Step) -> Sequence[Fact]:
        """In the order in which they happened; all of them at the time of the step, or before it."""
        if step.before.state is S.STABLE and step.after.state is S.STABLE and self._began is None:
            return ()  # A heartbeat: nearly all steps are.
        return tuple(self._facts(step))

    def give_up(self, at: float) -> Sequence[Fact]:
        """The member's thread has ended, and no step will follow."""
        return tuple(self._end(at, CRASHED)) if self._began is not None else ()

    def _facts(self, step: Step) -> Iterator[Fact]:
        rests = at_rest(step.after)
        self._epoch = step.after.epoch
        if step.after.fences > step.before.fences:
            yield Fenced(at=step.at)
        if self._began is not None:
            yield from _between(step)
        elif not rests:
            self._began = RebalanceBegan(at=step.at, cause=_cause(step), epoch=step.before.epoch)
            yield self._began
        if not rests:
            yield from self._enter(step.at, phase_of(step.after))
        elif self._began is not None:
            yield from _unfinished(step)
            yield from self._end(step.at, outcome_of(step.after))

    def _enter(self, at: float, phase: str) -> Iterator[Fact]:
        if self._phase is None or self._phase.phase != phase:
            yield from self._leave_phase(at)
            self._phase = PhaseBegan(at=at, phase=phase)
            yield self._phase

    def _leave_phase(self, at: float) -> Iterator[Fact]:
        if self._phase is not None:
            yield PhaseEnded(at=at, phase=self._phase.phase, began_at=self._phase.at)
            self._phase = None

    def _end(self, at: float, outcome: str) -> Iterator[Fact]:
        assert self._began is not None
        yield from self._leave_phase(at)
        yield RebalanceEnded(at=at, began=self._began, outcome=outcome, epoch=self._epoch)
        self._began, self.settled_at = None, at


def _cause(step: Step) -> Cause:
    """A member that was fenced while it owned nothing has joined again within the same step."""
    cause = step.after.cause or Cause(CauseKind.JOINED, "joined the group")
    return Cause(CauseKind.FENCED, cause.detail) if step.after.fences > step.before.fences else cause


def _between(step: Step) -> Iterator[Fact]:
    before, after = step.before, step.after
    if isinstance(step.event, CallbackReturned) and before.call and before.call.call_id == step.event.call_id:
        yield _ended(step, before.call, step.event)
    if after.fences > before.fences:
        yield RebalanceFailed(at=step.at, kind=CauseKind.FENCED)
    elif after.state is not before.state and after.state in {S.STALE, S.FATAL}:
        yield RebalanceFailed(at=step.at, kind=_cause(step).kind)
    if after.cause is not before.cause and after.cause is not None:
        yield CauseChanged(at=step.at, cause=after.cause)


def _ended(step: Step, call: RunningCall, returned: CallbackReturned) -> CallbackEnded:
    began_at = min(max(call.began_at, returned.began_at or call.began_at), step.at)
    failed = call.kind is CallbackKind.ASSIGNED and step.after.owned is step.before.owned
    return CallbackEnded(
        at=step.at,
        kind=call.kind,
        wanted_at=call.began_at,
        began_at=began_at,
        partitions=len(call.partitions),
        moved=0 if failed else len(call.partitions),
        thread=returned.thread,
        error=None if returned.error is None else raised_by(returned.error),
        returned=True,
    )


def _unfinished(step: Step) -> Iterator[CallbackEnded]:
    """A close does not wait for ever for a callback."""
    call = step.after.call
    if call is not None:
        yield CallbackEnded(
            at=step.at,
            kind=call.kind,
            wanted_at=call.began_at,
            began_at=call.began_at,
            partitions=len(call.partitions),
            moved=0,
            thread=None,
            error=None,
            returned=False,
        )
