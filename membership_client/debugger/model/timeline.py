"""From the sections of any number of files to the history of each group: which runs it had, and what happened to them.

Within one run the member's own monotonic clock decides what came first. Between runs only times of day can be
compared, and those only when they differ by more than the clocks of the machines may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from membership_client.debugger.model.broker_log import RemovalLine
from membership_client.debugger.model.checking import checked
from membership_client.debugger.model.decoding import start_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.trace_entry import TraceEntry, entries_of
from membership_client.trace.reading import Section


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
        """Whatever the clocks: is it sure that the one time of day came before the other?"""
        return later - earlier > self.skew_s


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
        Group(name=name, runs=_in_order(run for run in runs if run.group == name), skew_s=skew_s, until=until)
        for name in names
    )


def _in_order(runs: Iterable[MemberRun]) -> tuple[MemberRun, ...]:
    return tuple(sorted(runs, key=lambda run: (run.began, run.member_id)))


def _whose(section: Section) -> tuple[str, str, str, int]:
    header = section.header
    return header["group"], header["member"], header["host"], header["pid"]


def _run(sections: list[Section], skew_s: float, broker_log: tuple[RemovalLine, ...]) -> MemberRun | None:
    """None where nothing happened."""
    dropped = tuple((f"{section.path}:{section.line}", section.dropped) for section in sections if section.dropped)
    sections = sorted((section for section in sections if section.entries), key=_order)
    if not sections:
        return None
    first, last = sections[0], sections[-1]
    group, member_id, host, pid = _whose(first)
    return MemberRun(
        group=group,
        member_id=member_id,
        instance_id=first.header["instance"],
        host=host,
        pid=pid,
        pod=first.header.get("pod"),
        spark=first.header.get("spark"),
        start=start_of(first),
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
    """What stands in two files, because one was saved beside the other, counts once."""
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
