"""Turns the steps of one member into facts about its rebalances: when they begin and end, and what happens in between.

Times are the member's own: seconds on its monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from membership_client.core.events import CallbackKind, CallbackReturned
from membership_client.core.exception_summary import Raised, raised_by
from membership_client.core.machine import Step
from membership_client.core.member import Member, RunningCall
from membership_client.types import Cause, CauseKind, MemberState
from membership_client.values import dataclass

# --- facts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceBegan:
    """A rebalance began: the member was at rest, and is not any more."""

    at: float
    cause: Cause
    epoch: int
    """The epoch before the rebalance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBegan:
    at: float
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEnded:
    at: float
    phase: str
    began_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackEnded:
    at: float
    kind: CallbackKind
    wanted_at: float
    began_at: float
    """When it really began: a consumer's callbacks wait for a poll."""
    partitions: int
    moved: int
    """How many of the partitions are owned or given up by it: none if an assigned callback failed."""
    thread: str | None
    error: Raised | None
    returned: bool
    """False if it was still running when the member had to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseChanged:
    """Something else happened while the rebalance was under way."""

    at: float
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceFailed:
    """A rebalance under way failed: the member was fenced, did not poll in time, or ended. A new join may continue it."""

    at: float
    kind: CauseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceEnded:
    at: float
    began: RebalanceBegan
    outcome: str
    epoch: int
    """The epoch after the rebalance."""


Fact = (
    RebalanceBegan | PhaseBegan | PhaseEnded | CallbackEnded | CauseChanged | Fenced | RebalanceFailed | RebalanceEnded
)


# --- the tracker -----------------------------------------------------------------------------------------------------


S = MemberState

CRASHED = "crashed"


class RebalanceTracker:
    """`follow` and `give_up` belong to the thread that owns the member; any thread may read `settled_at`."""

    def __init__(self) -> None:
        self.settled_at: float | None = None
        """When the last rebalance ended."""
        self._began: RebalanceBegan | None = None
        self._phase: PhaseBegan | None = None
        self._epoch = 0

    def follow(self, step: Step) -> Sequence[Fact]:
        """The facts of a step, in the order in which they happened, at the time of the step or before it."""
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
    """The cause of the rebalance. A member that was fenced while it owned nothing has joined again within the same step."""
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
    """The callback that a close did not wait for any longer."""
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


# --- where a member is in a rebalance --------------------------------------------------------------------------------


_OUT = frozenset({S.UNSUBSCRIBED, S.STALE, S.FATAL})


def at_rest(member: Member) -> bool:
    """Is the member stable, or out of the group with nothing left to do? Between two such moments lies one rebalance."""
    if member.state is S.STABLE or member.closed is not None:
        return True
    return member.state in _OUT and member.departure is None and member.call is None and not member.owned


def phase_of(member: Member) -> str:
    """The phase of the rebalance of a member that is not at rest."""
    if member.departure is not None:
        return "leaving"
    if member.state is S.RECONCILING:
        revokes = member.call is not None and member.call.kind is not CallbackKind.ASSIGNED
        return "revoking" if revokes else "assigning"
    return _PHASES.get(member.state, "losing")


_PHASES = {S.JOINING: "joining", S.ACK: "acknowledging", S.LEAVING: "leaving"}


def outcome_of(member: Member) -> str:
    """The outcome of the rebalance of a member that is at rest again."""
    return "closed" if member.closed is not None else member.state.value
