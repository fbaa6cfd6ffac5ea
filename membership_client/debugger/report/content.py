"""What a report of traces shows: lanes of members and of partitions, and what lies in them. Times are times of day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from membership_client.debugger.findings.finding import Finding
from membership_client.types import MemberState, TopicPartition

StretchKind = Literal["silent", "unanswered"]
MarkKind = Literal["fence", "fatal", "failure", "warning", "leave", "problem", "end", "note"]


@dataclass(frozen=True, slots=True)
class StateSpan:
    began: float
    ended: float
    state: MemberState
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSpan:
    """Wanted, then begun, then ended: a consumer's callbacks wait for a poll in between."""

    wanted: float
    began: float | None
    """None for one that had not returned when the trace ended: only its return tells when it began."""
    ended: float
    kind: str
    partitions: tuple[TopicPartition, ...]
    cause: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a member did nothing, or in which no broker answered it."""

    began: float
    ended: float
    kind: StretchKind
    detail: str


@dataclass(frozen=True, slots=True)
class Mark:
    at: float
    kind: MarkKind
    headline: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLane:
    """All runs of one member, one after the other; runs at the same time have lanes of their own."""

    name: str
    label: str
    """The name, and which run it is where the name alone does not say."""
    group: str
    details: tuple[tuple[str, str], ...]
    states: tuple[StateSpan, ...]
    calls: tuple[CallSpan, ...]
    stretches: tuple[Stretch, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSpan:
    """`owner` is an index into the report's members."""

    began: float
    ended: float
    owner: int
    epoch: int
    reason: str
    ending: str


@dataclass(frozen=True, slots=True)
class UnownedSpan:
    began: float
    ended: float
    reason: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """`sure` is false if the clocks of two machines may differ by that much."""

    began: float
    ended: float
    owners: tuple[int, ...]
    sure: bool


@dataclass(frozen=True, slots=True)
class PartitionLane:
    group: str
    partition: TopicPartition
    owned: tuple[OwnedSpan, ...]
    gaps: tuple[UnownedSpan, ...]
    overlaps: tuple[Overlap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    began: float
    ended: float
    members: tuple[MemberLane, ...]
    partitions: tuple[PartitionLane, ...]
    findings: tuple[Finding, ...]
    untraced: bool = False
    """Members without a trace were in one of the groups."""

    @property
    def member_count(self) -> int:
        """By name, as `diagnose` counts: runs of one name at the same time have several lanes and are one member."""
        return len({(lane.group, lane.name) for lane in self.members})

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(lane.group for lane in self.members))
