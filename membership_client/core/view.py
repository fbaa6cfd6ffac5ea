"""What a member looks like from outside: its snapshot and its health."""

from __future__ import annotations

from membership_client.core.member import IN_GROUP, OUT_OF_GROUP, Member
from membership_client.core.topic_check import missing_problem
from membership_client.errors import MembershipError, error_for
from membership_client.types import Delay, Health, MemberState, Share, Snapshot, TopicPartition

S = MemberState

_MISSED_INTERVALS = 3
"""After this many heartbeat intervals without a confirmation a member is not ready: the group may already have given it up."""


def share_of(member: Member) -> Share:
    if member.owned or (member.target and member.target.partitions):
        return Share.ASSIGNED
    pending = member.owed_gap_s is not None or member.state in IN_GROUP - {S.STABLE}
    return Share.PENDING if pending else Share.NONE


def has_lost(member: Member) -> bool:
    """Are the partitions lost that the member still counts as owned, because its lost callback has not returned?"""
    return member.state in OUT_OF_GROUP or (member.state is S.LEAVING and member.epoch <= 0)


def error_of(member: Member) -> MembershipError | None:
    """The current problem as an error, None if there is none; topics that do not exist come after all other problems."""
    problem = member.problem or missing_problem(member)
    return error_for(problem, member.identity) if problem else None


def _delay_of(member: Member, now: float) -> Delay | None:
    delayed = member.call.delayed if member.call else None
    return Delay(delayed.why, max(0.0, now - delayed.since)) if delayed else None


def _target_of(member: Member, owned: frozenset[TopicPartition]) -> frozenset[TopicPartition]:
    if member.target is None:
        return frozenset()
    wanted = member.target.partitions
    # Mostly they are equal, and naming takes some milliseconds for ten thousand.
    return owned if wanted == member.owned else frozenset(wanted.named(member.names))


def snapshot_of(member: Member, now: float) -> Snapshot:
    owned = frozenset(member.owned.named(member.names))
    confirmed = member.confirmed_at
    return Snapshot(
        state=member.state,
        group_id=member.config.group_id,
        member_id=member.known_as or member.member_id,
        instance_id=member.config.group_instance_id,
        protocol=None if member.config.group_protocol == "auto" and member.settled is None else member.protocol,
        epoch=member.epoch,
        coordinator=member.coordinator,
        heartbeat_interval_s=None if confirmed is None else member.interval_s,
        heartbeat_age_s=None if confirmed is None else max(0.0, now - confirmed),
        owned=owned,
        target=_target_of(member, owned),
        unresolved=member.unresolved,
        share=share_of(member),
        cause=member.cause,
        error=error_of(member),
        delay=_delay_of(member, now),
        missing_topics=frozenset(member.topic_check.missing),
    )


def unconfirmed_s(member: Member, now: float) -> float:
    """Seconds since the coordinator last confirmed the member; 0 before the first time."""
    return now - (member.confirmed_at or now)


def is_unconfirmed(member: Member, now: float) -> bool:
    """Has the coordinator not confirmed the member for so long that the group may have given it up?"""
    return unconfirmed_s(member, now) > _MISSED_INTERVALS * member.interval_s


def health_of(member: Member, now: float) -> Health:
    """Live: not ended for good. Ready: the coordinator confirms the member, with partitions or as a standby."""
    if member.closed is not None:
        return Health(live=False, ready=False, why="closed")
    problems = (member.problem, missing_problem(member))
    trouble = "".join(f": {error_for(problem, member.identity)}" for problem in problems if problem)
    if member.state is S.FATAL:
        return Health(live=False, ready=False, why=f"fatal{trouble}")
    if member.epoch <= 0 or member.state not in IN_GROUP:
        return Health(live=True, ready=False, why=f"not in the group ({member.state.value}){trouble}")
    if is_unconfirmed(member, now):
        why = f"not confirmed by the coordinator for {unconfirmed_s(member, now):.1f} s{trouble}"
        return Health(live=True, ready=False, why=why)
    delay = _delay_of(member, now)
    waits = f"; {delay}" if delay else ""
    return Health(live=True, ready=True, why=f"{member.state.value} at epoch {member.epoch}{waits}{trouble}")
