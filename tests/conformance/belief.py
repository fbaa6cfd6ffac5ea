"""What a member believes after the answers it got, and what it therefore says next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    GroupLeft,
    Heartbeat,
    HeartbeatAccepted,
    LeaveGroup,
    Refused,
    Request,
    Response,
)
from membership_client.partitions import NOTHING, Partitions
from tests.conformance.names import Names
from tests.conformance.script import Actor, Beat, Epoch, Leave, Omission, Own, Owned, Subscription

_FIXED_EPOCHS = {Epoch.JOIN: 0, Epoch.LEAVE: -1, Epoch.PAUSE: -2, Epoch.INVALID: -3}
_SHIFTED_EPOCHS = {Epoch.PROPER: 0, Epoch.OLDER: -2, Epoch.NEWER: 1}

_ENDS = {
    Code.FENCED_MEMBER_EPOCH,
    Code.UNKNOWN_MEMBER_ID,
    Code.GROUP_ID_NOT_FOUND,
    Code.FENCED_INSTANCE_ID,
    Code.UNRELEASED_INSTANCE_ID,
}
"""After these a proper client joins again."""


@dataclass(frozen=True, slots=True)
class Belief:
    actor: Actor
    subscription: Subscription
    epoch: int = 0
    previous_epoch: int = 0
    owned: Partitions = NOTHING
    before: Partitions = NOTHING
    """What it was told before `owned`."""
    unsaid: bool = False
    """It was told something and has not acknowledged it."""

    @classmethod
    def of(cls, actor: Actor) -> Belief:
        return cls(actor, actor.subscription)

    # --- what it says ------------------------------------------------------------------------------------------------

    def heartbeat(self, beat: Beat, names: Names) -> Heartbeat:
        """The request, in the names of the broker it is for."""
        epoch = self._epoch(beat.epoch)
        says_all = beat.full or epoch == 0
        says = beat.says or (self.subscription if says_all else None)
        request = Heartbeat(
            group_id=names.group(beat.group),
            member_id=self.actor.name,
            epoch=epoch,
            instance_id=self._instance_id(beat.instance_id),
            rack_id=beat.rack_id,
            rebalance_timeout_s=self.actor.rebalance_timeout_s if says_all else None,
            topics=None if says is None else names.topic_names(says),
            regex=None if says is None else names.pattern(says),
            assignor=beat.assignor,
            owned=self._owned(beat, epoch, names),
        )
        return _without(request, beat.omits)

    def leave(self, leave: Leave, names: Names) -> LeaveGroup:
        member_id = self.actor.name if leave.named else ""
        instance_id = self._instance_id(leave.instance_id)
        return LeaveGroup(group_id=names.group_id, member_id=member_id, instance_id=instance_id, reason="enough")

    def _epoch(self, epoch: Epoch) -> int:
        if epoch in _FIXED_EPOCHS:
            return _FIXED_EPOCHS[epoch]
        if epoch is Epoch.PREVIOUS:
            return self.previous_epoch
        if epoch is Epoch.INSIDE:
            return max(1, self.epoch)
        return max(0, self.epoch + _SHIFTED_EPOCHS[epoch])

    def _instance_id(self, said: str | Own | None) -> str | None:
        return self.actor.instance_id if isinstance(said, Own) else said

    def _owned(self, beat: Beat, epoch: int, names: Names) -> Partitions | None:
        if beat.owned is Owned.PROPER:
            return NOTHING if epoch == 0 else self.owned if epoch > 0 and (self.unsaid or beat.full) else None
        half = {topic: sorted(numbers)[::2] for topic, numbers in self.owned.by_topic.items()}
        lists = {
            Owned.SILENT: None,
            Owned.ALL: self.owned,
            Owned.PART: Partitions.of(half),
            Owned.NONE: NOTHING,
            Owned.BEFORE: self.before,
            Owned.FOREIGN: names.foreign(self.owned),
        }
        return lists[beat.owned]

    # --- what it learns ----------------------------------------------------------------------------------------------

    def after(self, step: Beat | Leave, request: Request, answer: Response) -> Belief:
        match step, request, answer:
            case Beat(), Heartbeat(), HeartbeatAccepted() if answer.epoch > 0:
                return self._accepted(step, request, answer)
            case _, _, HeartbeatAccepted() | GroupLeft():
                return self._outside()
            case Beat(epoch=Epoch.PROPER), _, Refused(code=code) if code in _ENDS:
                return self._outside()
            case _:
                # A refused oddity tells a member nothing about itself.
                return self

    def _outside(self) -> Belief:
        return replace(self, epoch=0, owned=NOTHING, before=NOTHING, unsaid=False)

    def _accepted(self, beat: Beat, request: Heartbeat, answer: HeartbeatAccepted) -> Belief:
        news = answer.assignment is not None
        return replace(
            self,
            subscription=beat.says or self.subscription,
            epoch=answer.epoch,
            previous_epoch=self.epoch if answer.epoch != self.epoch else self.previous_epoch,
            owned=self.owned if answer.assignment is None else answer.assignment,
            before=self.owned if news else self.before,
            unsaid=news or (self.unsaid and request.owned is None),
        )


def _without(request: Heartbeat, omission: Omission | None) -> Heartbeat:
    match omission:
        case None:
            return request
        case Omission.TIMEOUT:
            return replace(request, rebalance_timeout_s=None)
        case Omission.SUBSCRIPTION:
            return replace(request, topics=None, regex=None)
        case Omission.OWNED:
            return replace(request, owned=None)
