"""Joining a classic group, staying in it, and rebalancing with it.

A rebalance, seen from a member: it has a cause (a heartbeat says that the group rebalances, the subscription changed,
the leader saw new partitions); partitions that may not be kept are revoked; JoinGroup is answered when all have joined;
SyncGroup is answered when the leader has sent its plan; our share of that is the new target. In an eager group nothing is
kept, so that is all. In a cooperative one a share that takes something away is followed by one more join.
"""

from __future__ import annotations

from membership_client.core import reasons, siblings
from membership_client.core.backoff import ASAP, FRESH
from membership_client.core.classic.group_leader import FlawedPlanError, admitted, makes_plan, plan, planned
from membership_client.core.classic.protocol import (
    compiled,
    cooperates,
    heartbeat,
    join,
    keepable,
    partitions_of,
    replanned,
    statement,
    sync,
    topic_id,
)
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    DescribeClassicGroup,
    GroupDescribed,
    GroupJoined,
    GroupSynced,
    JoinGroup,
    Refused,
    Response,
    SyncGroup,
)
from membership_client.core.fencing import fatal, fence
from membership_client.core.heartbeats import stays_while_leaving
from membership_client.core.member import IN_GROUP, Claims, InFlight, Member, Target, Transition, move, with_problem
from membership_client.core.requests import Slot, may_be_held_back, recovered, send, sentence, slow_down
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.types import Cause, CauseKind, MemberState, TopicPartition
from membership_client.values import replace

S = MemberState


# --- joining: JoinGroup, then SyncGroup ------------------------------------------------------------------------------


def is_entering(member: Member) -> bool:
    """Is a join due or under way: the first one, one of a rebalance, or the one that follows a share taken away?"""
    return member.state is S.JOINING or _follows_up(member)


def _follows_up(member: Member) -> bool:
    return member.state is S.ACK and member.target is not None and member.target.follow_up


def _enter_due(member: Member) -> float | None:
    if not is_entering(member) or member.coordinator is None or member.dialogue is not None:
        return None
    return None if _awaits_topics(member) else member.dialogue_backoff.not_before


def _awaits_topics(member: Member) -> bool:
    admission = member.classic.admission
    if member.classic.layouts is not None:
        return False
    by_pattern = member.subscription is not None and member.subscription.regex is not None
    return by_pattern if admission is None else makes_plan(admission)


def _enter(member: Member, now: float) -> Transition:
    return _join(member, now) if member.classic.admission is None else _sync(member, now)


ENTER = Rule(_enter_due, _enter)


def _join(member: Member, now: float) -> Transition:
    stated = statement(member)
    assert stated is not None
    if stated.regex is not None and compiled(stated.regex) is None:
        return fatal(member, Problem(kind=ProblemKind.INVALID_REGEX, detail=f"{stated.regex!r} is no pattern."))
    request = join(member, stated)
    claims = Claims(subscription=stated, owned=member.owned, reconciled=member.reconciled)
    member, effects = send(member, "dialogue", request, now, to=member.coordinator, claims=claims)
    # Without a member id or an instance id the coordinator could not tell which member leaves.
    known = bool(request.member_id or request.instance_id)
    return replace(siblings.settled(member), enrolled=member.enrolled or known), effects


def _sync(member: Member, now: float) -> Transition:
    admission = member.classic.admission
    assert admission is not None
    try:
        shares = plan(member) if makes_plan(admission) else {}
    except Exception as error:  # noqa: BLE001 - an assignor may be the application's own
        return _assignor_failed(member, admission, error)
    return send(planned(member, shares, now), "dialogue", sync(member, shares), now, to=member.coordinator)


def _assignor_failed(member: Member, admission: GroupJoined, error: Exception) -> Transition:
    what = (
        f"made a plan with a flaw: {error}" if isinstance(error, FlawedPlanError) else f"raised {type(error).__name__}"
    )
    detail = f"The assignor {admission.strategy!r} {what}."
    return fatal(member, Problem(kind=ProblemKind.ASSIGNOR_FAILED, detail=detail))


def identified(member: Member, member_id: str) -> Member:
    """The coordinator gave us a member id. The join is repeated with it at once."""
    return replace(member, dialogue=None, enrolled=True, classic=replace(member.classic, given_id=member_id))


def joined(member: Member, flight: InFlight, answer: GroupJoined, now: float) -> Transition:
    """The answer to JoinGroup: the whole group has joined."""
    if answer.generation <= 0 or not answer.member_id:
        return slow_down(replace(member, dialogue=None), "dialogue_backoff", now), ()
    classic = replace(member.classic, given_id=answer.member_id, mismatched_at=None)
    member = replace(member, dialogue=None, enrolled=True, classic=classic)
    if member.owned and _was_passed_over(member, answer, now):
        return fence(
            member, f"{reasons.PASSED_OVER}: from generation {member.epoch} to {answer.generation}", now, known=True
        )
    if member.epoch > 0 or is_entering(member):
        # When partitions are kept, the session counts from the last request sent: its answer may have lain unread for long.
        confirmed_at = _later(member.confirmed_at, flight.sent_at) if member.owned else now
        member = replace(member, epoch=answer.generation, confirmed_at=confirmed_at)
    if not is_entering(member) or flight.claims is None:
        return member, ()
    if answer.strategy not in member.config.partition_assignment_strategy:
        detail = f"The group assigns by {answer.strategy!r}, which this member did not offer."
        return fatal(member, Problem(kind=ProblemKind.NO_COMMON_STRATEGY, detail=detail))
    stated = flight.claims.subscription
    if member.stated is None or member.stated.topics != stated.topics:
        member = replace(member, classic=replace(member.classic, misfits=frozenset()))
    return replace(member, stated=stated, classic=admitted(member, answer, stated)), ()


def _was_passed_over(member: Member, answer: GroupJoined, now: float) -> bool:
    """Did the group complete a rebalance without us, so that other members may own our partitions?

    It does so only after the rebalance timeout. If a generation is missing earlier, only its answer was lost.
    """
    calm_at = member.classic.calm_at
    waited = calm_at is None or now - calm_at >= member.poll_interval_s
    return waited and answer.generation > member.epoch + 1 > 1


def _later(known: float | None, at: float) -> float:
    return at if known is None else max(known, at)


def synced(member: Member, flight: InFlight, answer: GroupSynced, now: float) -> Member:
    """The answer to SyncGroup: our share of the plan becomes the new target."""
    member = replace(member, dialogue=None)
    classic, stated = member.classic, member.stated
    if classic.admission is None:
        return member
    assert stated is not None
    if now - flight.sent_at >= member.session_timeout_s:
        # The answer may have lain unread while this process was stopped, and others may own that share by now: ask again.
        return member
    share = frozenset(partition for partition in answer.share if partition.topic in stated.topics)
    # For a static member that came back, the plan may be older than its subscription; it joins once more. If the next
    # plan has the same topics again, that is the leader's mistake, and more joins would not mend it.
    misfits = frozenset(partition.topic for partition in answer.share - share)
    member = replace(
        _with_readability(recovered(member), answer, classic.admission),
        confirmed_at=_later(member.confirmed_at, flight.sent_at),
        heartbeat_due=flight.sent_at + member.interval_s,
        classic=replace(
            classic,
            admission=None,
            calm_at=flight.sent_at,
            planned_in=classic.admission.generation,
            held=share,
            misfits=classic.misfits | misfits,
            rejoin=classic.rejoin or (reasons.MISFIT if misfits - classic.misfits else None),
        ),
    )
    return _adopt(member, share)


def _with_readability(member: Member, answer: GroupSynced, admission: GroupJoined) -> Member:
    """A share that cannot be read counts as empty until another plan comes."""
    if not answer.readable:
        detail = f"The leader {admission.leader_id} assigns by {admission.strategy!r} in a form that cannot be read."
        return with_problem(member, Problem(kind=ProblemKind.UNREADABLE_ASSIGNMENT, detail=detail))
    over = member.problem is not None and member.problem.kind is ProblemKind.UNREADABLE_ASSIGNMENT
    return replace(member, problem=None) if over else member


def _adopt(member: Member, share: frozenset[TopicPartition]) -> Member:
    wanted, number = partitions_of(share), member.targets + 1
    takes_away = bool(member.owned - wanted)
    known = {topic: name for topic, name in member.names.items() if topic in member.owned.topics}
    return replace(
        move(member, S.RECONCILING),
        target=Target(wanted, number, follow_up=takes_away and cooperates(member)),
        targets=number,
        names=known | {topic_id(partition.topic): partition.topic for partition in share},
        call_backoff=FRESH,
        # An answer under way may be older than the plan, and so be about topics that were replaced since.
        survey=None,
        classic=replanned(member.classic, kept=frozenset(known.values()), given=frozenset(p.topic for p in share)),
    )


# --- staying ---------------------------------------------------------------------------------------------------------


def _heartbeat_due(member: Member) -> float | None:
    stays = member.state in IN_GROUP and not is_entering(member)
    if not (stays or stays_while_leaving(member)) or member.coordinator is None or member.dialogue is not None:
        return None
    return max(min(member.heartbeat_due, siblings.due(member)), member.dialogue_backoff.not_before)


def send_heartbeat(member: Member, now: float, slot: Slot = "dialogue") -> Transition:
    """Send a heartbeat. The next one is due an interval later, even if this one fails."""
    member, effects = send(member, slot, heartbeat(member), now, to=member.coordinator)
    return replace(siblings.sent(member, now), heartbeat_due=now + member.interval_s), effects


HEARTBEAT = Rule(_heartbeat_due, send_heartbeat)


def confirmed(member: Member, flight: InFlight) -> Member:
    """The coordinator confirmed the membership, and the group does not rebalance."""
    return replace(_counted_on(member, flight), classic=replace(member.classic, calm_at=flight.sent_at))


def _counted_on(member: Member, flight: InFlight) -> Member:
    # The coordinator counts the session from when the heartbeat arrived, maybe long before its answer is read.
    return replace(recovered(member), dialogue=None, confirmed_at=flight.sent_at)


def _settle_due(member: Member) -> float | None:
    return ASAP if member.state is S.ACK and not is_entering(member) else None


def _settle(member: Member, now: float) -> Transition:
    """Stable at once: no partition was taken away, so there is nothing to tell the group."""
    return replace(move(member, S.STABLE), fences=0), ()


CONFIRM = Rule(_settle_due, _settle)


def _follow_due(member: Member) -> float | None:
    return ASAP if _follows_up(member) and member.classic.reason != reasons.REVOKED else None


def _follow(member: Member, now: float) -> Transition:
    return replace(member, classic=replace(member.classic, reason=reasons.REVOKED)), ()


FOLLOW_UP = Rule(_follow_due, _follow)


def _expire_due(member: Member) -> float | None:
    """While a join waits for others, the coordinator does not count our session.

    A member that keeps partitions sends heartbeats meanwhile: see join_keepalive.py.
    """
    waits = may_be_held_back(member.dialogue)
    holds = member.state in IN_GROUP and (member.state is not S.JOINING or bool(member.owned))
    if (waits and not member.owned) or not holds or member.confirmed_at is None:
        return None
    return member.confirmed_at + member.session_timeout_s


def _expire(member: Member, now: float) -> Transition:
    """By now the session has ended at the coordinator, too, even if its answer cannot reach us."""
    why = f"{reasons.SESSION_ENDED}: not confirmed for {member.session_timeout_s:g} s"
    return fence(replace(member, dialogue=None), why, now, known=True)


EXPIRE = Rule(_expire_due, _expire)

# --- rebalancing -----------------------------------------------------------------------------------------------------


def rebalances(member: Member, flight: InFlight, now: float) -> Member:
    """The coordinator answers that the group rebalances, which also confirms our membership."""
    if isinstance(flight.request, JoinGroup):
        return slow_down(member, "dialogue_backoff", now)
    if isinstance(flight.request, SyncGroup):
        return restarted(member, reasons.REBALANCING)
    member = _counted_on(member, flight)
    return enforced(siblings.settled(member), reasons.REBALANCING)


def restarted(member: Member, reason: str) -> Member:
    """A sync failed: a join follows."""
    if member.classic.admission is None:
        return member
    return replace(member, classic=replace(member.classic, admission=None, reason=reason))


def enforced(member: Member, reason: str) -> Member:
    """Have the group rebalance. If a rebalance is due already, its reason stays."""
    if member.state not in IN_GROUP or member.classic.rejoin is not None:
        return member
    return replace(member, classic=replace(member.classic, rejoin=reason))


def _rejoin_reason(member: Member) -> str | None:
    stated = statement(member)
    if member.classic.rejoin is None and stated is not None and member.stated is not None:
        return None if stated.topics == member.stated.topics else reasons.SUBSCRIPTION_CHANGED
    return member.classic.rejoin


def _rejoin_due(member: Member) -> float | None:
    if member.state not in {S.RECONCILING, S.STABLE} or member.call is not None or _rejoin_reason(member) is None:
        return None
    is_giving_up = member.target is not None and member.target.partitions == keepable(member)
    return None if member.owned - keepable(member) and is_giving_up else ASAP


def _rejoin(member: Member, now: float) -> Transition:
    """Partitions that may not be kept are revoked first; then the member joins."""
    reason, kept = _rejoin_reason(member), keepable(member)
    assert reason is not None
    kind = CauseKind.SUBSCRIPTION_CHANGED if reason == reasons.SUBSCRIPTION_CHANGED else CauseKind.GROUP_CHANGED
    member = replace(member, cause=Cause(kind, f"rebalance: {reason}"))
    if member.owned - kept:
        number = member.targets + 1
        member = replace(move(member, S.RECONCILING), target=Target(kept, number), targets=number)
        return replace(member, classic=replace(member.classic, rejoin=reason)), ()
    return replace(
        move(member, S.JOINING),
        target=None,
        # In an eager group every join ends in an assigned callback, as the first one does.
        greeted=member.greeted and cooperates(member),
        classic=replace(member.classic, reason=reason, rejoin=None),
    ), ()


REJOIN = Rule(_rejoin_due, _rejoin)

MISMATCH_PATIENCE_S = 10.0
"""How long we wait for a rebalancing group to tell its strategy, before we fail without naming it."""

_BETWEEN_PLANS = frozenset({"PreparingRebalance", "CompletingRebalance"})

# --- strategies that do not match ------------------------------------------------------------------------------------


def mismatched(member: Member, now: float) -> Transition:
    """No strategy is common to all members. The coordinator is asked for the group's strategy, so that the error can name it."""
    member = restarted(member, f"{reasons.COORDINATOR_ERROR} {Code.INCONSISTENT_GROUP_PROTOCOL.name}")
    since = member.classic.mismatched_at
    member = replace(member, classic=replace(member.classic, mismatched_at=now if since is None else since))
    request = DescribeClassicGroup(group_id=member.config.group_id)
    return send(member, "dialogue", request, now, to=member.coordinator)


def compared(member: Member, response: Response | None, now: float) -> Transition:
    """The coordinator named the group's strategy, or could not. During a rebalance it names none, so it is asked again."""
    member, since = replace(member, dialogue=None), member.classic.mismatched_at
    if member.state not in IN_GROUP:
        return member, ()
    theirs = response.assignor if isinstance(response, GroupDescribed) else ""
    rebalances = isinstance(response, GroupDescribed) and response.state in _BETWEEN_PLANS
    if rebalances and not theirs and since is not None and now < since + MISMATCH_PATIENCE_S:
        return slow_down(member, "dialogue_backoff", now), ()
    other_kind = _of_another_kind(member, response)
    if other_kind is not None:
        return fatal(member, Problem(kind=ProblemKind.GROUP_TYPE, detail=other_kind))
    ours = ", ".join(member.config.partition_assignment_strategy)
    said = f"assigns by {theirs}" if theirs else "assigns by none of these"
    detail = f"This member offers {ours}, and group {member.config.group_id} {said}."
    return fatal(member, Problem(kind=ProblemKind.NO_COMMON_STRATEGY, detail=detail))


def _of_another_kind(member: Member, response: Response | None) -> str | None:
    """The error's text if the group is not classic, but one of KIP-848 or of another program; None if it is classic."""
    no_classic_group = f"Group {member.config.group_id} is not a classic group."
    if isinstance(response, Refused) and response.code in {Code.GROUP_ID_NOT_FOUND, Code.INCONSISTENT_GROUP_PROTOCOL}:
        return sentence(response.message) if response.message else no_classic_group
    return no_classic_group if isinstance(response, GroupDescribed) and response.state == "Dead" else None
