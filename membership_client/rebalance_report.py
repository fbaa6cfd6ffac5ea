"""RebalanceReport, the value of `last_rebalance`, and the same as one sentence for the log."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from membership_client.partitions import counted, first_shares
from membership_client.types import Cause, MemberState, TopicPartition
from membership_client.values import dataclass

if TYPE_CHECKING:
    from membership_client.core.events import CallbackKind

_NOTICEABLE_S = 0.1


class RebalanceTrigger(enum.Enum):
    """What began a rebalance, as far as the member can know."""

    APPLICATION = "the application"
    """The application subscribed, unsubscribed, closed or did not poll in time, or its callback raised."""

    COORDINATOR = "the coordinator"
    """The coordinator dropped this member."""

    GROUP = "another member or a topic"
    """Another member, or a change of a topic. The protocols do not say which of them."""

    MEMBER = "this member"
    """An error ended the member, its process had stood still, or, as leader of a classic group, it saw that topics had changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceCallback:
    """One callback of a rebalance."""

    kind: CallbackKind
    partitions: frozenset[TopicPartition]
    waited_s: float
    """Seconds until it began: a Consumer's callbacks wait for a poll."""
    ran_s: float
    error: str | None
    """Type and place of the exception that it raised; None if it raised none."""
    returned: bool
    """False if it still ran when the member ended."""

    def __str__(self) -> str:
        waited = f" after it waited {self.waited_s:.1f} s" if self.waited_s >= _NOTICEABLE_S else ""
        if not self.returned:
            return f"the {self.kind.value} callback had not returned after {self.ran_s:.1f} s"
        if self.error is not None:
            return (
                f"the {self.kind.value} callback raised {self.error} after {self.ran_s:.1f} s{waited and f',{waited}'}"
            )
        return f"the {self.kind.value} callback took {self.ran_s:.1f} s{waited}"

    @property
    def is_notable(self) -> bool:
        """Does the sentence about the rebalance mention it?"""
        slow = max(self.waited_s, self.ran_s) >= _NOTICEABLE_S
        return slow or self.error is not None or not self.returned


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceReport:
    """One rebalance of one member, from its trigger until the member was stable or out of the group."""

    state: MemberState
    """STABLE, or UNSUBSCRIBED, STALE or FATAL: out of the group."""
    epoch: int
    cause: Cause
    """Why the rebalance began. What happened meanwhile, such as another target, belongs to the same rebalance."""
    triggered_by: RebalanceTrigger
    ended_at: float
    """Time of day in seconds since 1970, by this machine's clock."""
    seconds: float
    """Seconds from the moment at which this member learned of the trigger to the end."""
    owned: int
    """Number of partitions that the member owns after the rebalance."""
    got: frozenset[TopicPartition]
    lost: frozenset[TopicPartition]
    """Partitions that it owned before and does not own afterwards: revoked or lost. Those that came back are in `callbacks` only."""
    callbacks: tuple[RebalanceCallback, ...] = field(default=())
    """The newest hundred, in the order in which they ended."""
    stood_still_s: float = 0.0
    """For how long the member did nothing just before it was fenced or its poll interval was over, if more than 5 s: its process
    was stopped, its machine slept or was overloaded, or another thread held the interpreter."""

    def __str__(self) -> str:
        told = ", ".join(_told([call for call in self.callbacks if call.is_notable]))
        callbacks = f"; {told}" if told else ""
        why = f"{self.cause}; triggered by {self.triggered_by.value}"
        return f"{self._outcome()} ({why}), {self._moves()}, in {self.seconds:.1f} s{callbacks}{self._standstill()}"

    def _standstill(self) -> str:
        return f"; just before, this process did nothing for {self.stood_still_s:.1f} s" if self.stood_still_s else ""

    def _outcome(self) -> str:
        if self.state is MemberState.STABLE:
            return f"stable at epoch {self.epoch} with {counted(self.owned, 'partition')}"
        return _OUT.get(self.state, "not in the group any more")

    def _moves(self) -> str:
        moves = [("got", first_shares(self.got)), ("lost", first_shares(self.lost))]
        return ", ".join(f"{word} {topics}" for word, topics in moves if topics) or "nothing moved"


def _told(calls: list[RebalanceCallback]) -> Iterator[str]:
    """One clause for all callbacks of a kind that returned, and one for each other callback."""
    for kind in dict.fromkeys(call.kind for call in calls):
        same = [call for call in calls if call.kind is kind]
        returned = [call for call in same if call.returned and call.error is None]
        if len(returned) > 1:
            yield _together(returned)
        yield from (str(call) for call in same if call not in returned or len(returned) == 1)


def _together(calls: list[RebalanceCallback]) -> str:
    waited_s, ran_s = sum(call.waited_s for call in calls), sum(call.ran_s for call in calls)
    waited = f" after they waited {waited_s:.1f} s" if waited_s >= _NOTICEABLE_S else ""
    return f"{len(calls)} {calls[0].kind.value} callbacks took {ran_s:.1f} s{waited}"


_OUT = {
    MemberState.STALE: "out of the group until the application polls again",
    MemberState.FATAL: "ended by an error",
}
