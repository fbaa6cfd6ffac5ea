"""A group's regular expressions. A coordinator evaluates all of them at once, in the background, and not too often."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from membership_client.testing.fake_topics import FakeTopics

REFRESH_GAP_S = 10.0
"""The shortest time between two evaluations, unless the group has no evaluated pattern."""
REFRESH_INTERVAL_S = 600.0
EVALUATION_S = 0.001
"""How long an evaluation takes. On a broker it is a task for another thread."""


class PatternNews(enum.Enum):
    """What a heartbeat changed."""

    NOTHING = "nothing"
    STATED = "another pattern, to be evaluated"
    READY = "another pattern that is evaluated already, or none"


@dataclass(frozen=True, slots=True)
class Evaluation:
    topics: frozenset[str]
    at: float
    version: int


class FakePatterns:
    def __init__(self, topics: FakeTopics) -> None:
        self._topics = topics
        self._evaluated: dict[str, Evaluation] = {}
        self._ready_at: float | None = None

    def topics_of(self, regex: str) -> frozenset[str]:
        """The topics that a pattern matches; none until it has been evaluated."""
        evaluation = self._evaluated.get(regex)
        return evaluation.topics if evaluation else frozenset()

    def stated(self, old: str, new: str, subscribers: Mapping[str, int], now: float) -> PatternNews:
        """Note that a member replaces its pattern `old` by `new`. `subscribers` counts members per pattern, before that."""
        unheard = bool(new) and old != new and not subscribers.get(new)
        news = self._news(old, new)
        self._maybe_refresh(unheard, old, new, subscribers, now)
        if old and old != new and subscribers.get(old) == 1:
            self.forget(old)
        return news

    def forget(self, regex: str) -> frozenset[str]:
        """Forget a pattern that no member has any more, and return the topics that it matched."""
        topics = self.topics_of(regex)
        self._evaluated.pop(regex, None)
        return topics

    def _news(self, old: str, new: str) -> PatternNews:
        if old == new:
            return PatternNews.NOTHING
        return PatternNews.READY if not new or new in self._evaluated else PatternNews.STATED

    def _maybe_refresh(self, unheard: bool, old: str, new: str, subscribers: Mapping[str, int], now: float) -> None:
        if self._ready_at is not None or not (unheard or subscribers):
            return
        last = next(iter(self._evaluated.values()), None)
        if last is not None and now <= last.at + REFRESH_GAP_S:
            return
        counts = dict(subscribers)
        if old:
            counts[old] = counts.get(old, 0) - 1
        if new:
            counts[new] = counts.get(new, 0) + 1
        wanted = sum(1 for count in counts.values() if count > 0)
        outdated = last is not None and (
            last.version < self._topics.created_version or now > last.at + REFRESH_INTERVAL_S
        )
        if wanted and (unheard or wanted != len(self._evaluated) or outdated):
            self._ready_at = now + EVALUATION_S

    @property
    def ready_at(self) -> float | None:
        """When the evaluation under way ends; None if there is none."""
        return self._ready_at

    def evaluate(self, patterns: frozenset[str]) -> bool:
        """End the evaluation, for the patterns that members still have. True if any of them matches other topics than before."""
        at, self._ready_at = self._ready_at, None
        assert at is not None
        changed = False
        for pattern in sorted(patterns):
            matches = frozenset(topic.name for topic in self._topics if re.fullmatch(pattern, topic.name))
            changed |= matches != self.topics_of(pattern)
            self._evaluated[pattern] = Evaluation(matches, at, self._topics.version)
        return changed
