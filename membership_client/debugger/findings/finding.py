"""What a diagnosis says: one thing that happened, with the lines that show it and what to do about it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from membership_client.debugger.words import clock
from membership_client.types import TopicPartition

Certainty = Literal["certain", "likely", "unknown"]
"""How certain the cause is: the lines prove it, make it the best explanation, or do not show it."""


class Kind(enum.Enum):
    """In order of weight: first what ends members, then what delays the group, last what is no fault."""

    DUPLICATE_INSTANCE_ID = "duplicate instance id"
    ACCESS_DENIED = "access denied"
    GROUP_FULL = "group full"
    ENDED_BY_ERROR = "ended by an error"
    KILLED = "killed"
    PROCESS_STOPPED = "process stopped"
    INTERPRETER_BLOCKED = "interpreter blocked"
    POISON_RECORD = "poison record"
    POLL_INTERVAL_EXCEEDED = "poll interval exceeded"
    NETWORK_LOST = "network lost"
    BROKER_RESTARTED = "broker restarted"
    REMOVED_FROM_OUTSIDE = "removed from outside"
    THROWN_OUT = "thrown out"
    TWO_OWNERS = "two owners"
    TOPIC_MISSING = "topic missing"
    CALLBACK_FAILED = "callback failed"
    REBALANCE_STORM = "rebalance storm"
    WAITED_FOR_POLL = "waited for poll"
    WAITED_FOR_CALLBACK = "waited for callback"
    WAITED_FOR_OFFSETS = "waited for offsets"
    UNOWNED_PARTITION = "unowned partition"
    COMMIT_REFUSED = "commit refused"
    SLOW_CLOSE = "slow close"
    REBALANCE = "rebalance"

    @property
    def weight(self) -> int:
        """0 is the heaviest."""
        return list(Kind).index(self)

    @property
    def is_fault(self) -> bool:
        """A rebalance is no fault: it is how a group works."""
        return self is not Kind.REBALANCE


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line of a trace, and what it says."""

    path: Path
    line: int
    time: float
    """Time of day, by the clock of the member's machine."""
    member: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {clock(self.time)}  {self.member}  {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`began` and `ended` are times of day, as seconds since 1970, by the clock of the first member named."""

    kind: Kind
    group: str
    members: tuple[str, ...]
    """Instance ids, or member ids of members without one. The member that caused it comes first."""
    partitions: tuple[TopicPartition, ...] = ()
    began: float
    ended: float
    brief: str
    """A clause, which begins with a small letter where it begins with no name: the gist of the sentence."""
    sentence: str
    evidence: tuple[Evidence, ...]
    advice: str
    certainty: Certainty = "certain"

    @property
    def lasted_s(self) -> float:
        return self.ended - self.began

    def overlaps(self, other: Finding, slack_s: float = 0.0) -> bool:
        return self.began <= other.ended + slack_s and other.began <= self.ended + slack_s


_MOST_CLAUSES = 3


def answer(findings: Iterable[Finding]) -> str:
    """One sentence: what went wrong, heavy things first. `findings` are in order of weight."""
    faults = [finding for finding in findings if finding.kind.is_fault]
    clauses = list(dict.fromkeys(finding.brief for finding in faults))
    if not clauses:
        return "Nothing is wrong in these traces, as far as they tell."
    more = len(clauses) - _MOST_CLAUSES
    shown = clauses[:_MOST_CLAUSES] + ([f"and {more} more" if more > 1 else clauses[-1]] if more > 0 else [])
    text = "; ".join(shown)
    return f"{text}." if text.startswith(tuple(_names(faults[0]))) else f"{text[0].upper()}{text[1:]}."


def _names(finding: Finding) -> Iterator[str]:
    """As they begin a clause. Names are case-sensitive, so they keep their first letter."""
    yield from (f"{member} " for member in finding.members)
    yield from (f"{partition.topic}[" for partition in finding.partitions)
