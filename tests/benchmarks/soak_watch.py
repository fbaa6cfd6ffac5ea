"""What can be seen of a group from outside, and whether it may be true: ownership, offsets, records.

Reads the diaries while they are written. Nothing here depends on what a member thinks of itself now.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from membership_client import MembershipError, TopicPartition
from membership_client.admin import GroupAdmin
from tests.benchmarks.soak_fleet import EXACT, PARTITIONS, TOPIC

LATE_S = 5.0
"""So long a member whose session ended may go on before it learns it: a heartbeat interval, and an outage."""

_KEPT = 8
"""Of how many earlier owners of a partition is remembered what they did."""


@dataclass(slots=True, kw_only=True)
class Ownership:
    """One stay of a partition with one consumer."""

    epoch: int
    diary: str
    since: float
    first_read: float = float("inf")
    last_read: float = 0.0
    first_commit: float = float("inf")
    """When the first that was accepted had ended."""
    last_commit: float = 0.0
    """When the last that was accepted was begun."""
    revoked: bool = False
    next_offset: int | None = None


class Watch:
    """All groups. `violations` is empty as long as nothing happened that must not."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()
        self._positions: dict[Path, int] = {}
        self._held: dict[Path, dict[int, Ownership]] = defaultdict(dict)
        self._stays: dict[tuple[str, int], list[Ownership]] = defaultdict(list)
        self._seen: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self._committed: dict[tuple[str, int], int] = {}

    # --- diaries -----------------------------------------------------------------------------------------------------

    def follow(self, diaries: dict[Path, str]) -> None:
        """Whatever was written since the last time."""
        for path, group in list(diaries.items()):
            for line in self._new_lines(path):
                self._take(path, group, json.loads(line))
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

    def _take(self, path: Path, group: str, entry: dict[str, Any]) -> None:
        held = self._held[path]
        self.counts[entry["kind"]] += 1
        for partition in entry["partitions"]:
            if entry["kind"] == "assign":
                held[partition] = Ownership(epoch=entry["epoch"], diary=path.name, since=entry["at"])
                self._stays[group, partition].append(held[partition])
            elif (stay := held.get(partition)) is None:
                self._complain(f"{path.name} is not the owner in its own eyes: {entry}")
            elif entry["kind"] == "read":
                self._read(group, partition, stay, entry)
            elif entry["kind"] == "commit":
                stay.first_commit = min(stay.first_commit, entry["at"])
                stay.last_commit = max(stay.last_commit, entry["began_at"])
            else:
                stay.revoked = entry["kind"] == "revoke"
                del held[partition]

    def _read(self, group: str, partition: int, stay: Ownership, entry: dict[str, Any]) -> None:
        offset, count = entry["offset"], entry["count"]
        if stay.next_offset not in {None, offset}:
            self._complain(f"{stay.diary} read {partition}@{offset} and expected {stay.next_offset}")
        stay.next_offset = offset + count
        stay.first_read = min(stay.first_read, entry["at"])
        stay.last_read = max(stay.last_read, entry["at"])
        seen = self._seen[group, partition]
        seen.extend(bytes(max(0, offset + count - len(seen))))
        self.counts["records read again"] += sum(seen[offset : offset + count])
        self.counts["records"] += count
        seen[offset : offset + count] = b"\1" * count

    def _compare(self, group: str, partition: int, stays: list[Ownership]) -> None:
        """Who has the partition at a later epoch has it alone: in what it reads, and in what is accepted of it."""
        stays.sort(key=lambda stay: (stay.epoch, stay.since))
        for old, new in itertools.pairwise(stays):
            what = f"{group}/{partition} of {old.diary} at {old.epoch} and {new.diary} at {new.epoch}"
            overlap_s = old.last_read - new.first_read
            if overlap_s > (0.0 if old.revoked else LATE_S):
                self._complain(f"owned twice: {what} read, for {overlap_s:.2f} s")
            if old.last_commit > new.first_commit:
                self._complain(f"owned twice: {what} committed")
        del stays[:-_KEPT]

    # --- offsets -----------------------------------------------------------------------------------------------------

    def look_at_offsets(self, admin: GroupAdmin, groups: list[str]) -> None:
        """None is lost, and none goes back. A coordinator that cannot answer now is asked again later."""
        wanted = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        for group in groups:
            with contextlib.suppress(MembershipError, OSError):
                self._compare_offsets(group, {p.partition: o.offset for p, o in admin.committed(group, wanted).items()})

    def _compare_offsets(self, group: str, found: dict[int, int]) -> None:
        self.counts["looks at offsets"] += 1
        # While a transaction is open, its offsets are not told.
        for partition in found if group == EXACT else range(PARTITIONS):
            before, offset = self._committed.get((group, partition), -1), found.get(partition, -1)
            if offset < before:
                self._complain(f"offset of {group}/{partition} went back from {before} to {offset}")
            self._committed[group, partition] = max(before, offset)

    def committed(self, group: str) -> dict[int, int]:
        """As last seen."""
        return {p: offset for (name, p), offset in self._committed.items() if name == group and offset >= 0}

    # --- records -----------------------------------------------------------------------------------------------------

    def missing(self, group: str, ends: dict[int, int]) -> int:
        """How many records never came to any member."""
        return sum(end - sum(self._seen[group, partition][:end]) for partition, end in ends.items())

    def _complain(self, what: str) -> None:
        if what not in self.violations:
            self.violations.append(what)
