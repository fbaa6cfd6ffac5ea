"""From the sections of any number of files to the history of each group: who lived when, and what happened to them.

Within one life the member's own monotonic clock decides what came first. Between lives only times of day can be
compared, and those only when they differ by more than the clocks of the machines may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from membership_client.debugger.model.broker_log import Dismissal
from membership_client.debugger.model.checking import checked
from membership_client.debugger.model.decoding import start_of
from membership_client.debugger.model.history_step import Moment, moments_of
from membership_client.debugger.model.member_history import Life
from membership_client.trace.reading import Section


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """All that the traces tell of one group."""

    name: str
    lives: tuple[Life, ...]
    """By when they began."""
    skew_s: float
    """By how much the clocks of two machines may differ."""
    until: float
    """When the last trace of any group ends."""

    def clearly_before(self, earlier: float, later: float) -> bool:
        """Whatever the clocks: is it sure that the one time of day came before the other?"""
        return later - earlier > self.skew_s


def groups_of(sections: Iterable[Section], skew_s: float, dismissals: Iterable[Dismissal] = ()) -> tuple[Group, ...]:
    """By name. TraceError if a line is not what this version writes."""
    parts: dict[tuple[str, str, str, int], list[Section]] = defaultdict(list)
    for section in map(checked, sections):
        parts[_whose(section)].append(section)
    told = tuple(dismissals)
    lives = [life for key in sorted(parts) if (life := _life(parts[key], skew_s, told)) is not None]
    until = max((life.ended for life in lives), default=0.0)
    names = sorted({life.group for life in lives})
    return tuple(
        Group(name=name, lives=_in_order(life for life in lives if life.group == name), skew_s=skew_s, until=until)
        for name in names
    )


def _in_order(lives: Iterable[Life]) -> tuple[Life, ...]:
    return tuple(sorted(lives, key=lambda life: (life.began, life.member_id)))


def _whose(section: Section) -> tuple[str, str, str, int]:
    header = section.header
    return header["group"], header["member"], header["host"], header["pid"]


def _life(sections: list[Section], skew_s: float, broker_log: tuple[Dismissal, ...]) -> Life | None:
    """None where nothing happened."""
    dropped = tuple((f"{section.path}:{section.line}", section.dropped) for section in sections if section.dropped)
    sections = sorted((section for section in sections if section.entries), key=_order)
    if not sections:
        return None
    first, last = sections[0], sections[-1]
    group, member_id, host, pid = _whose(first)
    return Life(
        group=group,
        member_id=member_id,
        instance_id=first.header["instance"],
        host=host,
        pid=pid,
        pod=first.header.get("pod"),
        spark=first.header.get("spark"),
        start=start_of(first),
        moments=_moments(sections),
        torn=last.torn,
        saved=last.header["at"] > last.entries[-1]["at"],
        dropped=dropped,
        skew_s=skew_s,
        broker_log=broker_log,
    )


def _order(section: Section) -> tuple[float, str, int]:
    return section.entries[0]["at"], str(section.path), section.line


def _moments(sections: list[Section]) -> tuple[Moment, ...]:
    """What stands in two files, because one was saved beside the other, counts once."""
    found: list[Moment] = []
    seen: set[tuple[float, str]] = set()
    for section in sections:
        moments = moments_of(section, start_of(section))
        if len(sections) == 1:
            return tuple(moments)
        for moment, entry in zip(moments, section.entries, strict=True):
            key = moment.at, repr(entry)
            if key not in seen:
                seen.add(key)
                found.append(moment)
    return tuple(found)
