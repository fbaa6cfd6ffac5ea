"""Do the subscribed topics exist? A coordinator accepts a subscription to any name, and says nothing about it.

A topic of which the member has partitions exists. The others are looked up in the metadata: once if they exist, every few
seconds while one does not. The member reports a topic that does not exist, together with the most similar existing name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from membership_client.core.backoff import ASAP
from membership_client.core.events import DescribeTopics, Response, TopicsDescribed
from membership_client.core.member import InFlight, Member, TopicCheck, Transition
from membership_client.core.requests import send
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.types import MemberState
from membership_client.values import replace

FIRST_LOOK_S = 2.0
"""A member that has nothing of a topic for this long looks it up: most get their partitions sooner, and need not ask."""

NEXT_LOOK_S = 5.0
"""A topic that does not exist is looked up again after this."""

_MOST_NAMES = 10_000
"""Among more names than these the nearest is not looked for: comparing 10,000 takes a tenth of a second of the membership thread."""


# --- which topics are in question ------------------------------------------------------------------------------------


def _is_by_name(member: Member) -> bool:
    return member.subscription is not None and bool(member.subscription.expected)


def _in_question(member: Member) -> frozenset[str]:
    """The subscribed topics of which this member has no partitions, and is to get none."""
    if member.subscription is None or not _is_by_name(member):
        return frozenset()
    over = frozenset(member.names) - member.owned.topics - member.wanted_topics
    if not over:
        return member.subscription.expected.difference(member.names.values())
    return member.subscription.expected.difference(name for topic, name in member.names.items() if topic not in over)


def _change_question_due(member: Member) -> float | None:
    """During a rebalance it is not known what the member will have, so what was in question stays so."""
    if _is_by_name(member) and member.state is not MemberState.STABLE:
        return None
    return ASAP if _in_question(member) != member.topic_check.topics else None


def _change_question(member: Member, now: float) -> Transition:
    topics, check = _in_question(member), member.topic_check
    if not topics:
        return replace(member, topic_check=TopicCheck()), ()
    due = now + FIRST_LOOK_S if topics - check.topics else check.due
    return replace(
        member,
        topic_check=TopicCheck(
            topics=topics,
            due=due if check.due is None else min(check.due, due or check.due),
            missing={topic: nearest for topic, nearest in check.missing.items() if topic in topics},
            unnamed=check.unnamed & topics,
        ),
    ), ()


CHANGE_QUESTION = Rule(_change_question_due, _change_question)

# --- looking them up -------------------------------------------------------------------------------------------------


def _look_due(member: Member) -> float | None:
    if member.state is not MemberState.STABLE or member.coordinator is None or member.checking is not None:
        return None
    return member.topic_check.due


def _look(member: Member, now: float) -> Transition:
    """First ask whether the topics exist; then, if one does not, which names exist."""
    check = member.topic_check
    request = DescribeTopics(topics=None if check.unnamed else check.topics)
    return send(member, "checking", request, now, to=member.coordinator)


LOOK = Rule(_look_due, _look)


def answered(member: Member, flight: InFlight, response: Response, now: float) -> Member:
    """The broker told which topics there are."""
    assert isinstance(flight.request, DescribeTopics)
    if not isinstance(response, TopicsDescribed):
        return failed(member, now)
    if flight.request.topics is None:
        return _named(member, response.layouts, now)
    check = member.topic_check
    gone = response.unknown & check.topics
    missing = {topic: nearest for topic, nearest in check.missing.items() if topic not in response.layouts}
    unnamed = gone.difference(missing)
    news = replace(check, missing=missing, unnamed=unnamed, due=now if unnamed else _next_look(member, missing, now))
    if check.topics - flight.request.topics:
        news = replace(news, due=min(news.due or now, now + FIRST_LOOK_S))
    return replace(member, checking=None, topic_check=news)


def failed(member: Member, now: float) -> Member:
    """No answer came. A topic that is known to be missing is reported without the nearest name."""
    return _named(member, {}, now)


def _named(member: Member, existing: Iterable[str], now: float) -> Member:
    check, names = member.topic_check, frozenset(existing)
    found = {topic: nearest_to(topic, names) for topic in sorted(check.unnamed - names)}
    missing = {**check.missing, **found}
    due = None if check.due is None else now + NEXT_LOOK_S
    return replace(member, checking=None, topic_check=replace(check, missing=missing, unnamed=frozenset(), due=due))


def _next_look(member: Member, missing: Mapping[str, str | None], now: float) -> float:
    """A topic that exists may be deleted, also while others have its partitions."""
    return now + (NEXT_LOOK_S if missing else member.config.metadata_max_age_ms / 1000)


def nearest_to(topic: str, names: frozenset[str]) -> str | None:
    """The existing name that was probably meant; None if none is like it."""
    if len(names) > _MOST_NAMES:
        return None
    import difflib  # noqa: PLC0415 - for topics that do not exist

    folded = {name.casefold(): name for name in sorted(names)}
    found = difflib.get_close_matches(topic.casefold(), folded, n=1)
    return folded[found[0]] if found else None


# --- saying it -------------------------------------------------------------------------------------------------------


def missing_problem(member: Member) -> Problem | None:
    """The problem of a subscription to topics that do not exist; None if all exist."""
    missing = member.topic_check.missing
    if not missing:
        return None
    return Problem(
        kind=ProblemKind.UNKNOWN_TOPIC, detail=" ".join(missing_text(t, missing[t]) for t in sorted(missing))
    )


def missing_text(topic: str, nearest: str | None) -> str:
    """A sentence about a topic that does not exist."""
    meant = f" The nearest existing topic is {nearest}." if nearest else ""
    return f"Topic {topic} does not exist, or the brokers hide it because DESCRIBE on it is not granted.{meant}"
