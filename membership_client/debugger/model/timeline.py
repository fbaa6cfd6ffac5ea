"""From the sections of any number of files to the history of each group: which runs it had, and what happened to them.

Within one run the member's own monotonic clock decides what came first. Between runs only times of day can be
compared, and only if they differ by more than the clocks of the machines may differ.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from membership_client.core.member import IN_GROUP
from membership_client.debugger.findings.finding import Evidence
from membership_client.debugger.model.broker_log import RemovalLine
from membership_client.debugger.model.decoding import checked, start_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.trace_entry import TraceEntry, entries_of
from membership_client.debugger.words import lasting
from membership_client.member_names import member_name, told_apart
from membership_client.trace.reading import Section
from membership_client.types import MemberState


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """All that the traces tell of one group."""

    name: str
    runs: tuple[MemberRun, ...]
    """By when they began."""
    skew_s: float
    """By how much the clocks of two machines may differ."""
    until: float
    """When the last trace of any group ends."""

    def clearly_before(self, earlier: float, later: float) -> bool:
        """Did the one time of day come before the other, even if the clocks differ by `skew_s`?"""
        return later - earlier > self.skew_s

    def surely_before(self, run: MemberRun, time: float, other: MemberRun, other_time: float) -> bool:
        """Did the one's time of day come before the other's, even if a clock was set: see `MemberRun.uncertainty_s`?"""
        return other_time - time > max(self.skew_s, run.uncertainty_s(other, time, other_time))


def groups_of(
    sections: Iterable[Section], skew_s: float, removal_lines: Iterable[RemovalLine] = ()
) -> tuple[Group, ...]:
    """By name. TraceError if a line is not what this version writes."""
    parts: dict[tuple[str, str, str, int], list[Section]] = defaultdict(list)
    for section in map(checked, sections):
        parts[_whose(section)].append(section)
    told = tuple(removal_lines)
    runs = [run for key in sorted(parts) if (run := _run(parts[key], skew_s, told)) is not None]
    until = max((run.ended for run in runs), default=0.0)
    names = sorted({run.group for run in runs})
    return tuple(
        Group(name=name, runs=_named([run for run in runs if run.group == name]), skew_s=skew_s, until=until)
        for name in names
    )


def _named(runs: list[MemberRun]) -> tuple[MemberRun, ...]:
    """The runs of a group by when they began; those that have no instance id and the same name are told apart."""
    dynamic = [run for run in runs if run.instance_id is None]
    names = told_apart({run: run.name for run in dynamic}, {run: run.member_id for run in dynamic})
    named = (replace(run, name=names.get(run, run.name)) for run in runs)
    return tuple(sorted(named, key=lambda run: (run.began, run.member_id)))


def _whose(section: Section) -> tuple[str, str, str, int]:
    header = section.header
    return header["group"], header["member"], header["host"], header["pid"]


def _run(sections: list[Section], skew_s: float, broker_log: tuple[RemovalLine, ...]) -> MemberRun | None:
    """None if the sections have no entries."""
    dropped = tuple((f"{section.path}:{section.line}", section.dropped) for section in sections if section.dropped)
    sections = sorted((section for section in sections if section.entries), key=_order)
    if not sections:
        return None
    first, last = sections[0], sections[-1]
    group, member_id, host, pid = _whose(first)
    instance_id, start = first.header["instance"], start_of(first)
    return MemberRun(
        group=group,
        name=member_name(instance_id, start.config.client_id, host, pid),
        member_id=member_id,
        instance_id=instance_id,
        host=host,
        pid=pid,
        pod=first.header.get("pod"),
        spark=first.header.get("spark"),
        start=start,
        entries=_entries(sections),
        torn=last.torn,
        saved=last.header["at"] > last.entries[-1]["at"],
        dropped=dropped,
        skew_s=skew_s,
        broker_log=broker_log,
    )


def _order(section: Section) -> tuple[float, str, int]:
    return section.entries[0]["at"], str(section.path), section.line


def _entries(sections: list[Section]) -> tuple[TraceEntry, ...]:
    """An entry that is in two files, because a trace was saved beside the trace file, counts once."""
    found: list[TraceEntry] = []
    seen: set[tuple[float, str]] = set()
    for section in sections:
        entries = entries_of(section, start_of(section))
        if len(sections) == 1:
            return tuple(entries)
        for entry, shown in zip(entries, section.entries, strict=True):
            key = entry.at, repr(shown)
            if key not in seen:
                seen.add(key)
                found.append(entry)
    return tuple(found)


# --- runs that end without a close -----------------------------------------------------------------------------------


_ALIVE = IN_GROUP | {MemberState.LEAVING, MemberState.FENCED, MemberState.STALE}

_known: weakref.WeakKeyDictionary[Group, dict[MemberRun, bool]] = weakref.WeakKeyDictionary()
"""Answers so far. The question comes once per partition: without this, a member with thousands of partitions took minutes."""


def ended_without_close(group: Group, run: MemberRun) -> bool:
    """Did the trace end although nothing closed the member, and something shows that the member should have gone on?"""
    known = _known.setdefault(group, {})
    if run not in known:
        known[run] = _ended_without_close(group, run)
    return known[run]


def left_open(group: Group) -> tuple[MemberRun, ...]:
    """Runs whose traces end without a close, while nothing shows whether the member went on: it did, or was killed then."""
    return tuple(run for run in group.runs if _is_open(run) and not ended_without_close(group, run))


def _is_open(run: MemberRun) -> bool:
    return not run.saved and run.stop is None and run.entries[-1].state in _ALIVE


def _ended_without_close(group: Group, run: MemberRun) -> bool:
    if not _is_open(run):
        return False
    return run.torn or evidence_of_death(group, run) is not None or _others_go_on(group, run)


def evidence_of_death(group: Group, run: MemberRun) -> Evidence | None:
    """A line of another run that shows that this run had ended."""
    return _successor(group, run) or _next_owner(group, run)


def _others_go_on(group: Group, run: MemberRun) -> bool:
    """Do other traces go on for longer than a member may write nothing: a heartbeat interval and the timeout of a request?"""
    silent_s = run.interval_s + run.start.request_timeout_s
    if not group.clearly_before(run.ended + silent_s, group.until):
        return False
    set_s = max(run.uncertainty_s(other, run.ended, group.until) for other in group.runs)
    return group.until - run.ended - silent_s > set_s


def _successor(group: Group, run: MemberRun) -> Evidence | None:
    """Another run under its instance id."""
    if run.instance_id is None:
        return None
    later = (other for other in group.runs if other.instance_id == run.instance_id and other is not run)
    other = next((other for other in later if _follows(group, run, other)), None)
    return other.evidence(other.entries[0], f"a new run of {run.name}, {other.where}") if other else None


def _follows(group: Group, run: MemberRun, other: MemberRun) -> bool:
    """Did the other run begin when this one had ended? On one machine a clock tells; on two, ends that are clearly apart do."""
    if other.host == run.host:
        return other.began >= run.ended
    return group.clearly_before(run.ended, other.ended) and other.began >= run.began


def _next_owner(group: Group, run: MemberRun) -> Evidence | None:
    """Another run that got a partition which this one had never given up."""
    mine = {period.partition for period in run.owned_periods if period.is_open}
    for other in group.runs:
        for period in other.owned_periods:
            taken = period.partition in mine and other is not run
            if taken and group.surely_before(run, run.ended, other, period.began.time):
                after = lasting(period.began.time - run.ended)
                return other.evidence(period.began, f"gets {period.partition}, {after} later")
    return None
