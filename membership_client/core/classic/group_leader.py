"""The leader of a classic group: looks at the topics, makes the plan, and watches them afterwards.

Members that subscribed by a pattern look at the topics too, since brokers of the classic protocol match no patterns.
"""

from __future__ import annotations

from collections.abc import Mapping

from membership_client.core import reasons
from membership_client.core.assignors.registry import BUILT_IN, assignor, flaw_in
from membership_client.core.backoff import FRESH
from membership_client.core.classic.protocol import identified
from membership_client.core.error_codes import COORDINATOR_AWAY
from membership_client.core.events import (
    DescribeClassicGroup,
    DescribeTopics,
    GroupDescribed,
    GroupJoined,
    Refused,
    Response,
    Subscribe,
    TopicsDescribed,
)
from membership_client.core.member import IN_GROUP, Classic, InFlight, Member, Transition, with_problem
from membership_client.core.policy import denied_topics
from membership_client.core.requests import send, slow_down
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.subscriptions import TopicLayout
from membership_client.types import TopicPartition
from membership_client.values import replace

Plan = dict[str, tuple[TopicPartition, ...]]

MISSING_TOPIC_S = 5.0
"""How often the leader looks for a subscribed topic that does not exist."""


def makes_plan(admission: GroupJoined) -> bool:
    return admission.leads and not admission.skip_assignment


class FlawedPlanError(Exception):
    """The application's own assignor made a plan that must not be sent; the text says why."""


def plan(member: Member) -> Plan:
    """The share of each member. Raises what the assignor raises, FlawedPlanError, and KeyError for a strategy that we do not have."""
    admission, layouts = member.classic.admission, member.classic.layouts
    assert admission is not None
    assert layouts is not None
    found = assignor(admission.strategy)
    if found is None:
        raise KeyError(admission.strategy)
    topics = _layouts_of(layouts, member.classic.watched)
    # As tuples from here on: a share that is a generator would be empty once it had been checked for flaws.
    shares = {member_id: tuple(share) for member_id, share in found.assign(admission.members, topics).items()}
    if found.name not in BUILT_IN:
        flaw = flaw_in(shares, admission.members, topics, cooperative=found.cooperative)
        if flaw is not None:
            raise FlawedPlanError(flaw)
    return {m.member_id: shares.get(m.member_id, ()) for m in admission.members}


def _layouts_of(layouts: Mapping[str, TopicLayout], topics: frozenset[str]) -> dict[str, TopicLayout]:
    return {topic: layouts[topic] for topic in topics if topic in layouts}


def admitted(member: Member, admission: GroupJoined, stated: Subscribe) -> Classic:
    """The leader watches the topics of all members; they are looked up again for every plan.

    A plan by an assignor of the application's own is not compared with the topics: it may leave partitions out on purpose.
    """
    classic, leads = member.classic, admission.leads or _led_before(member, admission)
    # A leader that gets no list of members knows its own topics at least.
    watched = frozenset[str]().union(*(m.topics for m in admission.members)) or stated.topics if leads else frozenset()
    comes_back = leads and not makes_plan(admission) and admission.strategy in BUILT_IN
    return replace(
        classic,
        admission=admission,
        leads=leads,
        watched=watched,
        layouts=None if makes_plan(admission) else classic.layouts,
        planned_by=None,
        check_at=0.0 if comes_back else None,
        survey_due=0.0 if leads else classic.survey_due,
        # The next plan will be made for the topics as they are now, whichever member makes it.
        rejoin=None if classic.rejoin == reasons.TOPICS_CHANGED else classic.rejoin,
    )


_UUID_LENGTH = 36


def _led_before(member: Member, admission: GroupJoined) -> bool:
    """Is the leader this member itself, under the id that it had before it came back?

    Brokers before 3.2 have no way to tell a static leader that the plan stands: they name its old id, so that it makes none.
    """
    instance_id, leader_id = member.config.group_instance_id, admission.leader_id
    return instance_id is not None and leader_id[:-_UUID_LENGTH] == f"{instance_id}-"


# --- looking at topics -----------------------------------------------------------------------------------------------


def _by_pattern(member: Member) -> bool:
    return member.subscription is not None and member.subscription.regex is not None


def resubscribed(member: Member, subscription: Subscribe) -> Member:
    """A pattern is matched against all topics; the layouts that a subscription by names has asked for are too few."""
    if subscription.regex is None or _by_pattern(member):
        return member
    return replace(member, survey=None, classic=replace(member.classic, layouts=None))


def _is_awaited(member: Member) -> bool:
    """Does the next join or plan need a look at the topics?"""
    admission = member.classic.admission
    plans = admission is not None and makes_plan(admission)
    return member.classic.layouts is None and (plans or _by_pattern(member))


def _look_due(member: Member) -> float | None:
    if member.state not in IN_GROUP or member.coordinator is None or member.survey is not None:
        return None
    if _is_awaited(member):
        return member.survey_backoff.not_before
    classic = member.classic
    if classic.admission is not None or not (_assigns(member) or classic.unidentified or classic.topic_ids):
        return None
    due = 0.0 if classic.unidentified else classic.survey_due
    return max(due, member.survey_backoff.not_before)


def _assigns(member: Member) -> bool:
    """Does any member's share depend on what this member sees? Others look only whether their own topics were replaced."""
    return member.classic.leads or _by_pattern(member)


def _look(member: Member, now: float) -> Transition:
    topics = None if _by_pattern(member) else member.classic.watched | _own_topics(member)
    return send(member, "survey", DescribeTopics(topics=topics), now, to=member.coordinator)


LOOK = Rule(_look_due, _look)


def _own_topics(member: Member) -> frozenset[str]:
    """The topics of the partitions that we own or are about to own."""
    topics = member.owned.topics | member.wanted_topics
    return frozenset(member.names[topic] for topic in topics)


def topics_described(member: Member, flight: InFlight, answer: TopicsDescribed, now: float) -> Member:
    """Record how the topics are now. If they differ from those the leader made its plan for, the group rebalances."""
    classic, asked = member.classic, flight.request
    denied = answer.denied if _assigns(member) else frozenset[str]()
    member = _with_denied_topics(replace(member, survey=None, survey_backoff=FRESH), denied)
    assert isinstance(asked, DescribeTopics)
    if asked.topics is not None and not classic.watched <= asked.topics:
        return member  # The request was for an earlier plan, so the answer lacks topics of this one.
    whole = classic.watched <= answer.layouts.keys()
    seen = _layouts_of(answer.layouts if member.config.client_rack else _without_racks(answer.layouts), classic.watched)
    classic = identified(classic, answer.layouts, _own_topics(member))
    # No rejoin while a plan is on its way: when it comes, it shows whether one is needed.
    outdated = bool(classic.replaced) and classic.admission is None
    changed = outdated or (classic.planned_by is not None and seen != classic.planned_by)
    news = replace(
        classic,
        layouts=answer.layouts,
        planned_by=seen if classic.leads else None,
        survey_due=now + (member.config.metadata_max_age_ms / 1000 if whole else MISSING_TOPIC_S),
        rejoin=classic.rejoin or (reasons.TOPICS_CHANGED if changed else None),
    )
    return replace(member, classic=news)


def _without_racks(layouts: Mapping[str, TopicLayout]) -> dict[str, TopicLayout]:
    """As in Java, a leader without a rack ignores racks, so that a broker that goes down causes no rebalance."""
    return {topic: TopicLayout(layout.partitions, topic_id=layout.topic_id) for topic, layout in layouts.items()}


def _with_denied_topics(member: Member, denied: frozenset[str]) -> Member:
    """A member learns that topics are denied only when it looks them up. It looks again later, because access may be granted."""
    known = member.problem if member.problem and member.problem.kind is ProblemKind.TOPIC_DENIED else None
    detail = f"{denied_topics(denied)}." if denied else None
    if detail is not None and (known is None or known.detail != detail):
        return with_problem(member, Problem(kind=ProblemKind.TOPIC_DENIED, detail=detail))
    return replace(member, problem=None) if known and detail is None else member


def topics_not_described(member: Member, now: float) -> Member:
    return slow_down(replace(member, survey=None), "survey_backoff", now, cap_s=MISSING_TOPIC_S)


# --- a plan that may leave partitions without an owner ---------------------------------------------------------------


def planned(member: Member, shares: Plan, now: float) -> Member:
    """A cooperative plan leaves out partitions that their owner must give back first; then that owner joins again.

    An owner whose process is replaced before it got the plan gives nothing back, and does not join again. So the plan is
    compared with the topics a session later. An assignor of the application's own may leave out any partition.
    """
    admission = member.classic.admission
    assert admission is not None
    topics = member.classic.planned_by or {}
    existing = sum(layout.partitions for layout in topics.values())
    is_whole = sum(map(len, shares.values())) == existing
    if is_whole or admission.strategy not in BUILT_IN:
        return member
    return replace(member, classic=replace(member.classic, check_at=now + member.session_timeout_s))


def _compare_due(member: Member) -> float | None:
    classic = member.classic
    if classic.check_at is None or classic.planned_by is None or classic.admission is not None:
        return None
    if member.state not in IN_GROUP or member.coordinator is None or member.survey is not None:
        return None
    return max(classic.check_at, member.survey_backoff.not_before)


def _compare(member: Member, now: float) -> Transition:
    """Ask how the group is assigned. Also after a static leader came back: no leader watched the topics meanwhile."""
    request = DescribeClassicGroup(group_id=member.config.group_id)
    return send(member, "survey", request, now, to=member.coordinator)


COMPARE = Rule(_compare_due, _compare)


def compared(member: Member, response: Response, now: float) -> Member:
    """Does the current plan assign exactly the existing partitions? A coordinator that refuses to say is not asked again."""
    if isinstance(response, Refused) and response.code in COORDINATOR_AWAY:
        return topics_not_described(member, now)
    classic = member.classic
    outdated = isinstance(response, GroupDescribed) and response.state == "Stable" and not _covers(classic, response)
    rejoin = classic.rejoin or (reasons.OUT_OF_DATE if outdated and classic.check_at is not None else None)
    return replace(member, survey=None, classic=replace(classic, check_at=None, rejoin=rejoin))


def _covers(classic: Classic, described: GroupDescribed) -> bool:
    topics = classic.planned_by or {}
    existing = {TopicPartition(topic, n) for topic, layout in topics.items() for n in range(layout.partitions)}
    assigned = {partition for member in described.members for partition in member.current}
    # Old brokers send this leader no list of members, so it knows its own topics only; others may have more.
    return existing == {partition for partition in assigned if partition.topic in classic.watched}
