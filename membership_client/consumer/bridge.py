"""The bridge between the membership thread, which wants callbacks run, and the threads that poll: a pure state machine.

A `Bridge` is a value. `step` takes in what happened, `visit` tells a thread what to do next. Nothing here has a clock, a
lock or a thread, so the simulation of the tests can play any interleaving of them (tests/consumer/simulation).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from membership_client.types import TopicPartition
from membership_client.values import dataclass

Partitions = frozenset[TopicPartition]


class Phase(enum.Enum):
    """How far the consumer is on its way to its end."""

    OPEN = "records are handed out"
    CLOSE_ASKED = (
        "close() was called inside a callback or poll(), by a signal handler: it begins when a thread polls next"
    )
    CLOSING = "one thread closes, and runs the last callbacks"
    CLOSED = "nothing is read any more; a second close() still runs callbacks that the first one could not wait for"


class Stage(enum.Enum):
    """How far the group's callback is."""

    PREPARING = "the offsets at which new partitions start are being looked up"
    WAITING = "any thread that polls, closes or holds other partitions may run it"
    RUNNING = "a thread runs it"


class Role(enum.Enum):
    """Why a thread asks what to do."""

    POLL = "it is inside poll(), consume() or at the end of a hold()"
    CLOSE = "it is inside close()"
    HOLD = "it is there for callbacks that concern no held partition"


class Action(enum.Enum):
    """What the asking thread is to do."""

    RUN = "run the callback"
    READ = "hand out a record, or read some"
    WAIT = "wait: another thread runs a callback, or the membership is not confirmed"
    CLOSE = "carry out the close that a callback asked for"
    REFUSE = "raise: the consumer is closed"
    NOTHING = "return without a record: a callback about new partitions is calling, or nothing is to be done"


@dataclass(frozen=True, slots=True)
class Pending:
    """The callback that the group wants run: each member has at most one."""

    call_id: int
    partitions: Partitions
    takes_away: bool = False
    """True for a callback about partitions that are taken away, False for one about new partitions."""
    stage: Stage = Stage.PREPARING
    thread: int | None = None
    """The thread that runs it; None if none does."""


@dataclass(frozen=True, slots=True)
class Bridge:
    phase: Phase = Phase.OPEN
    pending: Pending | None = None
    holds: tuple[Partitions | None, ...] = ()
    """The partitions of each hold() that is under way; None for a hold of all partitions."""


# --- what happened -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """The membership thread wants a callback run."""

    call_id: int
    partitions: Partitions
    takes_away: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    call_id: int


@dataclass(frozen=True, slots=True)
class Returned:
    """The callback has returned or raised."""

    call_id: int


@dataclass(frozen=True, slots=True)
class HoldBegan:
    partitions: Partitions | None


@dataclass(frozen=True, slots=True)
class HoldEnded:
    partitions: Partitions | None


@dataclass(frozen=True, slots=True)
class CloseCalled:
    thread: int
    later: bool = False
    """True if the thread is inside poll() already: a signal handler that waited there for others could wait for itself."""


@dataclass(frozen=True, slots=True)
class CloseEnded:
    pass


Fact = Wanted | Prepared | Returned | HoldBegan | HoldEnded | CloseCalled | CloseEnded

STAGES: Mapping[tuple[Stage | None, type], Stage | None] = MappingProxyType(
    {
        (None, Wanted): Stage.PREPARING,
        (Stage.PREPARING, Prepared): Stage.WAITING,
        (Stage.RUNNING, Returned): None,
    }
)
"""How facts change the stage of the callback. WAITING becomes RUNNING by a `visit`. Any other pair changes nothing."""

PHASES: Mapping[Phase, tuple[Phase, ...]] = MappingProxyType(
    {
        Phase.OPEN: (Phase.CLOSE_ASKED, Phase.CLOSING),
        Phase.CLOSE_ASKED: (Phase.CLOSING,),
        Phase.CLOSING: (Phase.CLOSED,),
        Phase.CLOSED: (),
    }
)
"""Which phases may follow each, for the drawing in docs/threads.md."""


def step(bridge: Bridge, fact: Fact) -> Bridge:
    """The bridge after that fact. Facts about another callback than the pending one change nothing."""
    match fact:
        case Wanted():
            return replace(bridge, pending=Pending(fact.call_id, fact.partitions, fact.takes_away))
        case Prepared() | Returned():
            return _advanced(bridge, fact)
        case HoldBegan():
            return replace(bridge, holds=(*bridge.holds, fact.partitions))
        case HoldEnded():
            return replace(bridge, holds=_without(bridge.holds, fact.partitions))
        case CloseCalled():
            return _closing(bridge, fact)
        case CloseEnded():
            return replace(bridge, phase=Phase.CLOSED)


def visit(bridge: Bridge, role: Role, thread: int, *, certain: bool) -> tuple[Bridge, Action]:
    """What the thread is to do now. `certain` says that the group counts on this member as far as is known."""
    pending, phase = bridge.pending, bridge.phase
    if pending is not None and pending.stage is Stage.RUNNING:
        return bridge, _beside(bridge, pending, role, thread, certain=certain)
    if phase in {Phase.CLOSING, Phase.CLOSED} and role is not Role.CLOSE:
        return bridge, Action.REFUSE
    if phase is Phase.CLOSE_ASKED and role is Role.POLL:
        return replace(bridge, phase=Phase.CLOSING), Action.CLOSE
    if pending is not None and pending.stage is Stage.WAITING and may_run(bridge, role):
        return replace(bridge, pending=replace(pending, stage=Stage.RUNNING, thread=thread)), Action.RUN
    if role is not Role.POLL:
        return bridge, Action.NOTHING
    return bridge, Action.READ if certain else Action.WAIT


def may_run(bridge: Bridge, role: Role) -> bool:
    """Beside a hold only a callback that concerns none of the held partitions may run."""
    pending = bridge.pending
    if role is not Role.HOLD or pending is None:
        return role is not Role.HOLD
    return bool(bridge.holds) and all(held is not None and held.isdisjoint(pending.partitions) for held in bridge.holds)


def hands_out(bridge: Bridge) -> bool:
    """May records be handed out without a visit?"""
    waiting = bridge.pending is not None and bridge.pending.stage is not Stage.PREPARING
    return bridge.phase is Phase.OPEN and not waiting


def runs_on(bridge: Bridge, thread: int) -> bool:
    """Does that thread run the callback?"""
    return bridge.pending is not None and bridge.pending.thread == thread


def _advanced(bridge: Bridge, fact: Prepared | Returned) -> Bridge:
    pending = bridge.pending
    if pending is None or pending.call_id != fact.call_id or (pending.stage, type(fact)) not in STAGES:
        return bridge
    stage = STAGES[pending.stage, type(fact)]
    return replace(bridge, pending=None if stage is None else replace(pending, stage=stage))


def _closing(bridge: Bridge, fact: CloseCalled) -> Bridge:
    if bridge.phase not in {Phase.OPEN, Phase.CLOSE_ASKED}:
        return bridge
    if fact.later or runs_on(bridge, fact.thread):
        return replace(bridge, phase=Phase.CLOSE_ASKED)
    return replace(bridge, phase=Phase.CLOSING)


def _beside(bridge: Bridge, pending: Pending, role: Role, thread: int, *, certain: bool) -> Action:
    """While a callback runs. One that gives partitions up may go on reading the others, as in confluent-kafka."""
    if pending.thread == thread and role is Role.POLL and pending.takes_away and certain:
        return Action.READ
    if pending.thread == thread or role is Role.HOLD:
        return Action.NOTHING
    if role is Role.POLL and bridge.phase in {Phase.CLOSING, Phase.CLOSED}:
        return Action.REFUSE
    return Action.WAIT


def _without(holds: tuple[Partitions | None, ...], ended: Partitions | None) -> tuple[Partitions | None, ...]:
    at = holds.index(ended)
    return (*holds[:at], *holds[at + 1 :])
