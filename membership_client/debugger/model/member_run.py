"""One run of one member, from its first trace entry to its last, out of all files that hold a part of it."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from membership_client.core.events import Answered, Close, GroupJoined, MemberIdGiven, Polled, Stop
from membership_client.core.member import Member
from membership_client.debugger.findings.finding import Evidence
from membership_client.debugger.model.broker_log import BrokerLogLines, RemovalLine, lines_about
from membership_client.debugger.model.calls import CallbackRecord, calls_of
from membership_client.debugger.model.fences import Fence, FenceCause, FenceContext, fences_of
from membership_client.debugger.model.heartbeats import SentHeartbeat, heartbeats_of
from membership_client.debugger.model.memberships import Membership, OwnedPeriod, memberships_of, owned_periods_of
from membership_client.debugger.model.silences import Outage, Silence, outages_of, silences_of
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import GroupProtocol

_DOUBTED_S = 3600.0
"""Before and after a clock was set, its times are doubted for that long."""


# Without slots, for what is computed once; compared by identity, which is enough.
@dataclass(frozen=True, kw_only=True, eq=False)
class MemberRun:
    """Entries are in order of the member's own clock. Times of day of two runs are only as comparable as their machines' clocks."""

    group: str
    name: str
    """See `member_names`: the same for all runs of a static member, and one's own for each other run."""
    member_id: str
    instance_id: str | None
    host: str
    pid: int
    pod: str | None
    spark: str | None
    """Slot and task, if it ran in a Spark job."""
    start: Member
    entries: tuple[TraceEntry, ...]
    torn: bool
    """It ends in half a line: the process was killed while it wrote, or the file was cut."""
    saved: bool
    """The trace was saved from memory: the member may have gone on after its end."""
    dropped: tuple[tuple[str, int], ...] = ()
    """Where steps are missing, as file and line, and how many: the file could not be written as fast as they came."""
    skew_s: float
    """By how much the clocks of other machines may differ from its own."""
    broker_log: tuple[RemovalLine, ...] = ()
    """The lines of all members."""

    @functools.cached_property
    def given_id(self) -> str:
        """The first member id from a coordinator; empty where members choose their own (KIP-848)."""
        return self.start.classic.given_id or next(self._given_ids(), "")

    def _given_ids(self) -> Iterator[str]:
        answers = (step.event.response for step in self.steps if isinstance(step.event, Answered))
        return (answer.member_id for answer in answers if isinstance(answer, MemberIdGiven | GroupJoined))

    @functools.cached_property
    def ids(self) -> frozenset[str]:
        """All member ids under which brokers knew it: a classic group gives a new one with every return."""
        return frozenset({self.member_id, self.start.classic.given_id, *self._given_ids()} - {""})

    @property
    def _removal_lines(self) -> tuple[RemovalLine, ...]:
        return lines_about(self.broker_log, self.group, self.ids, self.instance_id)

    @property
    def where(self) -> str:
        more = {"pod": self.pod, "Spark": self.spark}
        known = ", ".join(f"{what} {name}" for what, name in more.items() if name)
        return f"process {self.pid} on {self.host}{f' ({known})' if known else ''}"

    @property
    def began(self) -> float:
        return self.entries[0].time

    @property
    def ended(self) -> float:
        return self.entries[-1].time

    @functools.cached_property
    def steps(self) -> tuple[TraceEntry, ...]:
        return tuple(entry for entry in self.entries if entry.is_step)

    @functools.cached_property
    def notes(self) -> tuple[TraceEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.is_step)

    @functools.cached_property
    def calls(self) -> tuple[CallbackRecord, ...]:
        return calls_of(self.entries)

    @functools.cached_property
    def heartbeats(self) -> tuple[SentHeartbeat, ...]:
        return heartbeats_of(self.steps)

    @functools.cached_property
    def owned_periods(self) -> tuple[OwnedPeriod, ...]:
        return owned_periods_of(self.steps, self.entries)

    @functools.cached_property
    def memberships(self) -> tuple[Membership, ...]:
        return memberships_of(self.steps, self.member_id)

    @functools.cached_property
    def silences(self) -> tuple[Silence, ...]:
        return silences_of(self.steps, self.start)

    @functools.cached_property
    def outages(self) -> tuple[Outage, ...]:
        return outages_of(self.steps, self.start.coordinator)

    @functools.cached_property
    def fences(self) -> tuple[Fence, ...]:
        around = FenceContext(
            heartbeats=self.heartbeats,
            silences=self.silences,
            outages=self.outages,
            calls=self.calls,
            patience_s=self.poll_interval_s,
            interval_s=self.interval_s,
            session_s=self.start.config.session_timeout_ms / 1000 if self.is_classic else None,
            is_classic=self.is_classic,
            told=BrokerLogLines(self._removal_lines, self.skew_s + self.start.request_timeout_s),
        )
        return fences_of(self.steps, around)

    @functools.cached_property
    def _clock_jumps(self) -> tuple[TraceEntry, ...]:
        """Steps before which its time of day jumped."""
        return tuple(step for step in self.steps if step.jumped_s)

    @functools.cached_property
    def _clock_sets(self) -> tuple[TraceEntry, ...]:
        """Steps before which its clock was set: jumps, without the sleep of a machine that a fence proves."""
        fences = (fence for fence in self.fences if fence.why is FenceCause.STILL) if self._clock_jumps else ()
        asleep = [fence.silence for fence in fences if fence.silence is not None]
        return tuple(step for step in self._clock_jumps if not any(silence.includes_sleep(step) for silence in asleep))

    def _clock_set_s(self, began: float, ended: float) -> float:
        """By how much its clock was set between these times of day."""
        sets = (step for step in self._clock_sets if max(step.time, step.time - step.jumped_s) >= began)
        return sum(abs(step.jumped_s) for step in sets if min(step.time, step.time - step.jumped_s) <= ended)

    def _shares_clock(self, other: MemberRun) -> bool:
        """Are they on one machine, and did both note each jump that its clock made while both ran?"""
        return self.host == other.host and not self._missed_by(other) and not other._missed_by(self)

    def _missed_by(self, other: MemberRun) -> bool:
        first, last = other.entries[0].at, other.entries[-1].at
        sets = [step.jumped_s for step in self._clock_sets if first < step.at < last]
        return any(all(abs(set_s - noted.jumped_s) > 1.0 for noted in other._clock_jumps) for set_s in sets)

    def uncertainty_s(self, other: MemberRun, began: float, ended: float) -> float:
        """By how much the time from one moment to another may be wrong, if each of the two runs took note of one of them.

        If the clock of one machine is set, it may have been wrong before that or be wrong since then. The trace does not tell
        which, so both count, for an hour: a clock that is wrong for longer is beyond `skew_s`, which the user states.
        """
        if self._shares_clock(other):
            return max(self._clock_set_s(began, ended), other._clock_set_s(began, ended))
        first, last = began - _DOUBTED_S, ended + _DOUBTED_S
        return self.skew_s + self._clock_set_s(first, last) + other._clock_set_s(first, last)

    @functools.cached_property
    def closing(self) -> TraceEntry | None:
        """When close() was called."""
        return next((entry for entry in self.steps if isinstance(entry.event, Close)), None)

    @functools.cached_property
    def stop(self) -> TraceEntry | None:
        """When a close had ended."""
        return next((entry for entry in self.steps if entry.effects_of(Stop)), None)

    @functools.cached_property
    def _times(self) -> list[float]:
        return [step.at for step in self.steps]

    def steps_between(self, began_at: float, ended_at: float) -> Sequence[TraceEntry]:
        """By its own clock, both included."""
        return self.steps[bisect_left(self._times, began_at) : bisect_right(self._times, ended_at)]

    @functools.cached_property
    def interval_s(self) -> float:
        """Its own in a classic group; under KIP-848 the longest that it was told."""
        if self.is_classic:
            return self.start.config.heartbeat_interval_ms / 1000
        return max(
            (heartbeat.interval_s for heartbeat in self.heartbeats if heartbeat.interval_s),
            default=self.start.interval_s,
        )

    @functools.cached_property
    def polls(self) -> bool:
        """Does its application poll? A GroupMember runs callbacks on a thread of their own."""
        return self.start.polled_at is not None or any(isinstance(step.event, Polled) for step in self.steps)

    @functools.cached_property
    def is_classic(self) -> bool:
        """A run speaks one protocol once it has found out which."""
        return bool(self.given_id) or self.start.protocol is GroupProtocol.CLASSIC

    @property
    def poll_interval_s(self) -> float:
        return self.start.poll_interval_s

    def evidence(self, entry: TraceEntry, text: str) -> Evidence:
        return Evidence(entry.path, entry.line, entry.time, self.name, text)
