"""When a partition had no owner although the group had a member that subscribes to its topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from membership_client.core.events import Subscribe
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.unowned import uncovered
from membership_client.debugger.report.content import UnownedSpan
from membership_client.debugger.report.owned import Owned
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.states import states_of
from membership_client.types import MemberState

_AWAY = frozenset({MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.FATAL})

Interval = tuple[float, float]


def wanted(topic: str, presences: Mapping[MemberRun, Presence]) -> list[Interval]:
    """When the group had a member that subscribes to the topic: a partition that no member wants needs no owner."""
    wanting = ((run, there) for run, there in presences.items() if _wants(run, topic))
    spans = (span for run, there in wanting for span in states_of(run, there.until))
    return _union((span.began, span.ended) for span in spans if span.state not in _AWAY)


def _wants(run: MemberRun, topic: str) -> bool:
    """At some time: which topics a pattern matches, only the coordinator knows, so it may be any."""
    stated = [run.start.subscription, *(step.event for step in run.steps)]
    wishes = [wish for wish in stated if isinstance(wish, Subscribe)]
    return not wishes or any(wish.regex is not None or topic in wish.topics for wish in wishes)


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], ended)
        else:
            found.append((began, ended))
    return found


def gaps_between(owned: Sequence[Owned], until: float, wanted: Sequence[Interval]) -> Iterator[UnownedSpan]:
    """`owned` by when each began.

    Before the first one the partition may not have existed; after one whose end is not known it may still have been owned.
    """
    for last, following in uncovered(owned, lambda one: one.span.began, lambda one: one.span.ended):
        if last.ends:
            taken_at = until if following is None else following.span.began
            yield from _during(wanted, last.span.ended, taken_at, _reason(last, following))


def _reason(last: Owned, following: Owned | None) -> str:
    before = f"Last owned by {last.run.name} ({last.span.ending})"
    if following is None:
        return f"{before}\nNobody whose trace is here took it since."
    return f"{before}\nNext owner: {following.run.name} ({following.span.reason})"


def _during(wanted: Sequence[Interval], began: float, ended: float, reason: str) -> Iterator[UnownedSpan]:
    for first, last in wanted:
        if (start := max(first, began)) < (end := min(last, ended)):
            yield UnownedSpan(start, end, reason)
