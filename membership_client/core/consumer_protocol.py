"""KIP-848: what to say to the coordinator next."""

from __future__ import annotations

from membership_client.core.events import Heartbeat, LeaveGroup, Subscribe
from membership_client.core.member import Claims, Member
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import LeaveMode

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
TEMPORARY_LEAVE_EPOCH = -2

REASON_LIMIT = 255


def statement(member: Member) -> Subscribe | None:
    """The subscription that heartbeats state: the newest, or while that is denied the one that the coordinator knows."""
    return member.subscription if member.denied_until is None else member.stated


def claims_of(member: Member, subscription: Subscribe) -> Claims:
    """What the coordinator should know of us now."""
    return Claims(subscription=subscription, owned=member.owned, reconciled=member.reconciled)


def heartbeat(member: Member, claims: Claims) -> Heartbeat:
    """A full heartbeat when joining or after a failure, otherwise only what changed since the last accepted one."""
    full, known = member.accepted is None, member.accepted
    news = known is None or known.subscription != claims.subscription
    stated = claims.subscription if news and member.denied_until is None else None
    owned = _holdings(member) if known is None or _acknowledges(known, claims) else None
    return Heartbeat(
        group_id=member.config.group_id,
        member_id=member.member_id,
        epoch=member.epoch,
        instance_id=member.config.group_instance_id,
        rack_id=member.config.client_rack if full else None,
        rebalance_timeout_s=member.poll_interval_s if full else None,
        topics=tuple(sorted(stated.topics)) if stated else None,
        # An empty pattern removes one that was stated before; null would leave it in force.
        regex=(stated.regex or "") if stated else None,
        assignor=member.config.group_remote_assignor if full else None,
        owned=NOTHING if member.epoch == JOIN_EPOCH else owned,
    )


def _acknowledges(known: Claims, claims: Claims) -> bool:
    return known.owned != claims.owned or known.reconciled != claims.reconciled


def _holdings(member: Member) -> Partitions:
    """Partitions that others must not get: owned ones, those of the target, and those of a running callback.

    If the list lacked a partition whose assigned callback runs, the coordinator could withdraw it and take it as released.
    """
    coming = member.target.partitions if member.target else NOTHING
    running = member.call.partitions if member.call else NOTHING
    return member.owned | coming | running


def keepalive(member: Member) -> Heartbeat:
    """A heartbeat that says nothing new. After a failure it repeats the owned partitions, or it would be refused."""
    return Heartbeat(
        group_id=member.config.group_id,
        member_id=member.member_id,
        epoch=member.epoch,
        instance_id=member.config.group_instance_id,
        owned=_holdings(member) if member.accepted is None else None,
    )


def release(member: Member, holder_id: str) -> Heartbeat:
    """A temporary leave: our own, or on behalf of the member that holds our instance id."""
    return Heartbeat(
        group_id=member.config.group_id,
        member_id=holder_id,
        epoch=TEMPORARY_LEAVE_EPOCH,
        instance_id=member.config.group_instance_id,
    )


def leave_request(
    member: Member, mode: LeaveMode, reason: str, *, reason_refused: bool
) -> Heartbeat | LeaveGroup | None:
    """The request that tells the coordinator that we leave; None where the mode says to tell nothing."""
    config = member.config
    if mode is not LeaveMode.LEAVE and config.group_instance_id is not None:
        return release(member, member.member_id)
    if mode is LeaveMode.REMAIN:
        return None
    if not reason_refused:
        return LeaveGroup(
            group_id=config.group_id,
            member_id=member.member_id,
            instance_id=config.group_instance_id,
            reason=reason[:REASON_LIMIT],
        )
    return Heartbeat(
        group_id=config.group_id,
        member_id=member.member_id,
        epoch=LEAVE_EPOCH,
        instance_id=config.group_instance_id,
    )
