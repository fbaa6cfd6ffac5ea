"""What telemetry has to tell of a member, as values. Times are the member's own: seconds on its monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.core.events import CallbackKind
from membership_client.core.exception_summary import Raised
from membership_client.types import Cause, CauseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceBegan:
    """A rebalance began: the member was at rest, and is not any more."""

    at: float
    cause: Cause
    epoch: int
    """Before it."""


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
    """How many of them changed hands: none if an assigned callback failed."""
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
    """A rebalance under way came to nothing: fenced, out for want of polls, or ended. It may go on with a new join."""

    at: float
    kind: CauseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceEnded:
    at: float
    began: RebalanceBegan
    outcome: str
    epoch: int
    """After it."""


Fact = (
    RebalanceBegan | PhaseBegan | PhaseEnded | CallbackEnded | CauseChanged | Fenced | RebalanceFailed | RebalanceEnded
)
