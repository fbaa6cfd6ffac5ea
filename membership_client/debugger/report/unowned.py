"""When a partition had no owner although somebody was there to own it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from membership_client.core.events import Subscribe
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.uncovered_time import uncovered
from membership_client.debugger.report.owned import Owned
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.scene import Gap
from membership_client.debugger.report.states import states_of
from membership_client.types import MemberState

_AWAY = frozenset({MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.FATAL})

Interval = tuple[float, float]


def wanted(topic: str, presences: Mapping[Life, Presence]) -> list[Interval]:
    """When somebody was there to own it: what nobody wants has no owner either, and that is no gap."""
    wanting = ((life, there) for life, there in presences.items() if _wants(life, topic))
    spans = (span for life, there in wanting for span in states_of(life, there.until))
    return _union((span.began, span.ended) for span in spans if span.state not in _AWAY)


def _wants(life: Life, topic: str) -> bool:
    """At some time: which topics a pattern matches, only the coordinator knows, so it may be any."""
    stated = [life.start.subscription, *(step.event for step in life.steps)]
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


def gaps_between(owned: Sequence[Owned], until: float, wanted: Sequence[Interval]) -> Iterator[Gap]:
    """`owned` by when each began.

    Before the first, nobody knows whether the partition existed; after one whose end is not known, whether it was owned.
    """
    for last, following in uncovered(owned, lambda one: one.span.began, lambda one: one.span.ended):
        if last.ends:
            taken_at = until if following is None else following.span.began
            yield from _during(wanted, last.span.ended, taken_at, _reason(last, following))


def _reason(last: Owned, following: Owned | None) -> str:
    before = f"Last owned by {last.life.name} ({last.span.ending})"
    if following is None:
        return f"{before}\nNobody whose trace is here took it since."
    return f"{before}\nNext owner: {following.life.name} ({following.span.reason})"


def _during(wanted: Sequence[Interval], began: float, ended: float, reason: str) -> Iterator[Gap]:
    for first, last in wanted:
        if (start := max(first, began)) < (end := min(last, ended)):
            yield Gap(start, end, reason)
