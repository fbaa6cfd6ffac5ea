"""What can be seen of a group from outside, and whether it may be true: ownership, offsets, records.

Reads the diaries while they are written. Nothing here depends on what a member thinks of itself now.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from membership_client import MembershipError, TopicPartition
from membership_client.admin import GroupAdmin
from tests.benchmarks.soak_fleet import CLASSIC_GROUP, EXACT, PARTITIONS, TOPIC

LATE_S = 30.0
"""So long a member whose session ended may go on while it hears nothing: several outages, one after the other."""

CLASSIC_LATE_S = 5.0
"""Members of a classic group know by themselves when their session has ended; a busy machine may tell them late."""

ANSWERED_S = 6.0
"""How old an answer can be when it is read: `request.timeout.ms`, and a little."""

_KEPT = 16
"""Of how many earlier owners of a partition is remembered what they did."""

_CHANCE = 1
"""How often a stop may fall between the end of a consume(), or a slot's look at its member, and the next line of its caller."""


@dataclass(slots=True, kw_only=True)
class Ownership:
    """One stay of a partition with one consumer."""

    epoch: int
    diary: str
    since: float
    first_read: float = float("inf")
    last_read: float = 0.0
    confirmed: float = 0.0
    """When the coordinator last agreed to what was read."""
    last_commit: float = 0.0
    """When the last that was accepted was begun; or earlier, if nobody knows."""
    awoke: dict[float, float] = field(default_factory=dict)
    """When its process was continued, and when the last consume() that read something afterwards was begun."""
    ends: dict[int, float] = field(default_factory=dict)
    """Offsets that reading reached and that are not committed, and when it did."""
    revoked: bool = False
    over: bool = False
    next_offset: int | None = None
    across: float | None = None
    """When a process was continued, if that may have been inside the call that noted its start, or just before it."""


@dataclass(slots=True)
class Progress:
    """How far a partition of a group is known to be committed, and since when."""

    offsets: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def note(self, offset: int, at: float) -> None:
        """In the order of time; what brings nothing new is left out."""
        if not self.offsets or offset > self.offsets[-1]:
            self.offsets.append(offset)
            self.times.append(max(at, self.times[-1] if self.times else at))

    def before(self, at: float) -> int:
        """The offset that was committed by then."""
        known = bisect.bisect_left(self.times, at)
        return self.offsets[known - 1] if known else 0


class Watch:
    """All groups. `violations` is empty as long as nothing happened that must not.

    `partitions_of_violations` says which partitions they are about.
    """

    def __init__(self, topic: str = TOPIC, partitions: int = PARTITIONS) -> None:
        self.violations: list[str] = []
        self.partitions_of_violations: set[int] = set()
        self.counts: Counter[str] = Counter()
        self._partitions = [TopicPartition(topic, number) for number in range(partitions)]
        self._progress: dict[tuple[str, int], Progress] = defaultdict(Progress)
        self._positions: dict[Path, int] = {}
        self._newest: dict[Path, dict[int, Ownership]] = defaultdict(dict)
        self._stays: dict[tuple[str, int], list[Ownership]] = defaultdict(list)
        self._seen: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self._committed: dict[tuple[str, int], int] = {}
        self._accepted: dict[tuple[str, int], int] = {}
        self._across_stops: set[tuple[str, float]] = set()
        self._woken: list[float] = []
        self._first_calls: dict[tuple[str, float], float] = {}
        """After each stop of the process of a diary: when the first call that noted something began."""

    def note_wake(self, at: float) -> None:
        """A process of handlers was continued then; it is not known which diary is its own."""
        self._woken.append(at)

    # --- diaries -----------------------------------------------------------------------------------------------------

    def follow(self, diaries: dict[Path, str], wakes: Mapping[Path, list[float]]) -> None:
        """Whatever was written since the last time. `wakes` says when the process of a diary was continued."""
        for path, group in list(diaries.items()):
            for line in self._new_lines(path):
                self._take(path, group, json.loads(line), wakes.get(path, []))
        for (group, partition), stays in self._stays.items():
            self._compare(group, partition, stays)

    def _new_lines(self, path: Path) -> list[bytes]:
        if not path.exists():
            return []
        with path.open("rb") as file:
            file.seek(self._positions.get(path, 0))
            written = file.read()
        whole = written[: written.rfind(b"\n") + 1]
        self._positions[path] = self._positions.get(path, 0) + len(whole)
        return whole.splitlines()

    def _take(self, path: Path, group: str, entry: dict[str, Any], wakes: list[float]) -> None:
        newest = self._newest[path]
        across = self._across_stop(path, entry)
        self.counts[entry["kind"]] += 1
        for partition in entry["partitions"]:
            stay = newest.get(partition)
            if entry["kind"] == "assign":
                newest[partition] = Ownership(epoch=entry["epoch"], diary=path.name, since=entry["at"], across=across)
                self._stays[group, partition].append(newest[partition])
            elif stay is None or (stay.over and entry["kind"] != "report"):
                self._complain(partition, f"{path.name} is not the owner in its own eyes: {entry}")
            elif entry["kind"] == "read":
                self._read(group, partition, stay, entry)
                _note_wake(stay, entry, wakes)
            elif entry["kind"] in {"commit", "report"}:
                self._commit(group, partition, stay, entry)
            else:
                stay.over, stay.revoked = True, entry["kind"] == "revoke"

    def _read(self, group: str, partition: int, stay: Ownership, entry: dict[str, Any]) -> None:
        offset, count = entry["offset"], entry["count"]
        if stay.next_offset not in {None, offset}:
            self._complain(partition, f"{stay.diary} read {partition}@{offset} and expected {stay.next_offset}")
        if stay.next_offset is None:
            self._compare_start(group, partition, stay, offset)
        stay.next_offset = offset + count
        stay.ends[offset + count] = entry["at"]
        stay.first_read = min(stay.first_read, entry["at"])
        stay.last_read = max(stay.last_read, entry["at"])
        stay.confirmed = max(stay.confirmed, entry["confirmed_at"])
        seen = self._seen[group, partition]
        seen.extend(bytes(max(0, offset + count - len(seen))))
        self.counts["records read again"] += sum(seen[offset : offset + count])
        self.counts["records"] += count
        seen[offset : offset + count] = b"\1" * count

    def _commit(self, group: str, partition: int, stay: Ownership, entry: dict[str, Any]) -> None:
        """One that is only reported was begun after its last record was read; more is not known."""
        offset = entry["offset"]
        self._progress[group, partition].note(offset, entry["at"])
        began_at = entry.get("began_at", stay.ends.get(offset, 0.0))
        stay.last_commit = max(stay.last_commit, began_at)
        stay.ends = {end: at for end, at in stay.ends.items() if end > offset}
        self._accepted[group, partition] = max(offset, self._accepted.get((group, partition), offset))

    def _across_stop(self, path: Path, entry: dict[str, Any]) -> float | None:
        """When a process was continued, if this is of a diary's first call after that: it may have begun before the stop."""
        woken_at = max((at for at in self._woken if at < entry["at"]), default=None)
        if woken_at is None or "began_at" not in entry:
            return None
        first = self._first_calls.setdefault((path.name, woken_at), entry["began_at"])
        return woken_at if entry["began_at"] == first else None

    def _compare_start(self, group: str, partition: int, stay: Ownership, offset: int) -> None:
        """What was committed before a partition came to an owner does not come to this owner again."""
        committed = self._progress[group, partition].before(stay.since)
        if offset < committed and not self._may_be_chance(stay):
            what = f"{stay.diary} read {partition}@{offset}, which was committed as {committed} before it had it"
            self._complain(partition, what)

    def _may_be_chance(self, stay: Ownership) -> bool:
        if stay.across is None:
            return False
        self._across_stops.add((stay.diary, stay.across))
        return len(self._across_stops) <= _CHANCE

    def _compare(self, group: str, partition: int, stays: list[Ownership]) -> None:
        """Who has the partition at a later epoch has it alone: in what it reads, and in what is accepted of it."""
        stays.sort(key=lambda stay: (stay.epoch, stay.since))
        for old, new in itertools.combinations(stays, 2):
            for how in self._overlaps(old, new, CLASSIC_LATE_S if group == CLASSIC_GROUP else LATE_S):
                who = f"{old.diary} at {old.epoch} and {new.diary} at {new.epoch}"
                self._complain(partition, f"owned twice: {group}/{partition} of {who} {how}")
        del stays[:-_KEPT]

    def _overlaps(self, old: Ownership, new: Ownership, late_s: float) -> Iterator[str]:
        """How the one was still there when the other one was."""
        overlap_s = old.last_read - new.first_read
        if overlap_s > (0.0 if old.revoked else late_s):
            yield f"read, for {overlap_s:.2f} s"
        if old.confirmed - ANSWERED_S > new.since:
            yield "read, and the coordinator had agreed to both"
        if old.last_commit > new.since:
            yield "committed"
        for woken_at, began_at in old.awoke.items():
            if new.since < woken_at and self._is_no_chance(old, woken_at, began_at):
                yield "read, when its process was continued"

    def _is_no_chance(self, stay: Ownership, woken_at: float, began_at: float) -> bool:
        """A stop in the moment after a consume() looks as if that had returned afterwards, but is rare."""
        if began_at < woken_at:
            self._across_stops.add((stay.diary, woken_at))
        return began_at >= woken_at or len(self._across_stops) > _CHANCE

    # --- offsets -----------------------------------------------------------------------------------------------------

    def look_at_offsets(self, admin: GroupAdmin, groups: list[str]) -> None:
        """None is lost, and none goes back. A coordinator that cannot answer now is asked again later."""
        for group in groups:
            with contextlib.suppress(MembershipError, OSError):
                found = admin.committed(group, self._partitions)
                self._compare_offsets(group, {place.partition: offset.offset for place, offset in found.items()})

    def _compare_offsets(self, group: str, found: dict[int, int]) -> None:
        self.counts["looks at offsets"] += 1
        # While a transaction is open, its offsets are not told.
        for partition in found if group == EXACT else range(len(self._partitions)):
            place, offset = (group, partition), found.get(partition, -1)
            before = max(self._committed.get(place, -1), self._accepted.get(place, -1))
            if offset < before:
                self._complain(partition, f"offset of {group}/{partition} went back from {before} to {offset}")
            self._committed[place] = max(before, offset)

    def look_for_losses(self, groups: list[str]) -> None:
        """What is committed was read. Only for groups whose readers write down what they read before they commit it.

        Offsets must be looked at before, and the diaries followed after that.
        """
        for group in groups:
            for partition, offset in self.committed(group).items():
                self._progress[group, partition].note(offset, time.monotonic())
                lost = offset - sum(self._seen[group, partition][:offset])
                if lost:
                    first = self._seen[group, partition].find(0, 0, offset)
                    first = first if first >= 0 else len(self._seen[group, partition])
                    what = f"{lost} records of {group}/{partition} were committed and not read, from offset {first} on"
                    self._complain(partition, what)

    def committed(self, group: str) -> dict[int, int]:
        """As last seen."""
        return {p: offset for (name, p), offset in self._committed.items() if name == group and offset >= 0}

    # --- records -----------------------------------------------------------------------------------------------------

    def missing(self, group: str, ends: dict[int, int]) -> int:
        """How many records never came to any member."""
        return sum(end - sum(self._seen[group, partition][:end]) for partition, end in ends.items())

    def _complain(self, partition: int, what: str) -> None:
        if what not in self.violations:
            self.violations.append(what)
            self.partitions_of_violations.add(partition)


def _note_wake(stay: Ownership, entry: dict[str, Any], wakes: list[float]) -> None:
    for woken_at in wakes:
        if woken_at < entry["at"]:
            stay.awoke[woken_at] = entry["began_at"]
