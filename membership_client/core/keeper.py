"""Heartbeats that a keeper process sends while the interpreter is held: what it is asked for, and what its report means.

The keeper repeats the keepalive of a `Watch` from `Watch.at` on, when the member's own heartbeat is late. The owner of a
member calls `watch_of` after every step; before it carries out a step that changes the watch, it takes the keeper's
report (`KeeperReported`) if the keeper may have sent something. So a member never speaks under an epoch that the keeper
has seen replaced.
"""

from __future__ import annotations

from membership_client.core.classic import protocol
from membership_client.core.consumer_protocol import keepalive
from membership_client.core.events import ClassicHeartbeat, Heartbeat, KeeperReported
from membership_client.core.heartbeats import stays_while_leaving
from membership_client.core.member import IN_GROUP, Member, Transition
from membership_client.types import GroupProtocol, Node
from membership_client.values import dataclass, replace

GRACE = 1 / 4
"""How late the member's heartbeat must be before the keeper sends its own, in intervals. A busy interpreter is less late."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The keepalive that the keeper sends to the broker `to` at the time `at`, and then once per interval."""

    to: Node
    request: Heartbeat | ClassicHeartbeat
    at: float
    interval_s: float

    @property
    def epoch(self) -> int:
        """The member epoch or the generation."""
        return self.request.epoch if isinstance(self.request, Heartbeat) else self.request.generation


def watch_of(member: Member) -> Watch | None:
    """What the keeper should do for the member as it is now; None if the coordinator does not count the member.

    Also None while a classic member joins: only its own thread can end a join.
    """
    stays = member.state in IN_GROUP or stays_while_leaving(member)
    beside = member.dialogue is None or _is_keepalive(member.dialogue.request)
    if member.coordinator is None or member.epoch <= 0 or not stays or not beside:
        return None
    at = max(member.heartbeat_due, member.dialogue_backoff.not_before) + GRACE * member.interval_s
    return Watch(member.coordinator, _keepalive(member), at, member.interval_s)


def _is_keepalive(request: object) -> bool:
    return isinstance(request, ClassicHeartbeat) or (isinstance(request, Heartbeat) and request.epoch > 0)


def _keepalive(member: Member) -> Heartbeat | ClassicHeartbeat:
    """The heartbeat for the keeper. It has the owned partitions, so that a coordinator also accepts the epoch before its own.

    The answer to a heartbeat under way may bring a new epoch, and lie unread while the interpreter is held.
    """
    if member.protocol is GroupProtocol.CLASSIC:
        return protocol.heartbeat(member)
    return keepalive(replace(member, accepted=None))


def until(member: Member, now: float, *, held: bool) -> float:
    """When the keeper stops: the poll interval after the last poll, or after the member's last heartbeat without polls."""
    since = now if held or member.polled_at is None else member.polled_at
    return since + member.poll_interval_s


def reported(member: Member, event: KeeperReported, now: float) -> Transition:
    """The coordinator may have told the keeper what this member must know: a full heartbeat at once makes it say so again.

    The answer to a heartbeat under way may be older than what the keeper was told, so a full one follows that as well. It is
    still awaited: without its timeout a dead connection would be used for ever. Found by simulation.
    """
    member = replace(member, accepted=None, heartbeat_due=min(member.heartbeat_due, now))
    if member.dialogue is not None and _is_keepalive(member.dialogue.request):
        member = replace(member, dialogue=replace(member.dialogue, claims=None))
    if event.asked_epoch != member.epoch or member.epoch <= 0:
        return member, ()
    member = replace(member, epoch=max(member.epoch, event.epoch))
    if event.confirmed_at is not None and member.confirmed_at is not None:
        member = replace(member, confirmed_at=max(member.confirmed_at, event.confirmed_at))
    return member, ()
