"""Diaries that consumers in several processes wrote, and checks that they can all be true of one group."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A callback, or a record with its offset and the epoch since which its partition was owned."""

    at: float
    kind: str
    partitions: tuple[int, ...]
    offset: int | None = None
    epoch: int | None = None


Span = tuple[int, float, float]
"""A partition in one process's hands: from its assign to the moment from which others may have it."""


@dataclass
class Diary:
    """The diary of one process; `stopped_at` says when it was killed, or stopped for longer than a session."""

    path: Path
    stopped_at: list[float] = field(default_factory=list)

    @functools.cached_property
    def entries(self) -> list[Entry]:
        """All entries; to be called when the process has ended. A line that a kill cut off is left out."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        read = [json.loads(line) for line in lines if line.endswith("}")]
        return [Entry(**{**entry, "partitions": tuple(entry["partitions"])}) for entry in read]

    def records(self) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.kind == "record")

    def assert_sound(self) -> None:
        """Every record is of a partition held at that moment, in order, without a gap, under the epoch of its assign."""
        held: dict[int, Entry] = {}
        read: dict[int, int] = {}
        for entry in self.entries:
            if entry.kind == "assign":
                assert not held.keys() & set(entry.partitions), f"{self.path.name}: assigned twice: {entry}"
                held |= dict.fromkeys(entry.partitions, entry)
            elif entry.kind == "record":
                self._check_record(entry, held, read)
            else:
                assert held.keys() >= set(entry.partitions), f"{self.path.name}: not held: {entry}"
                for partition in entry.partitions:
                    del held[partition]
                    read.pop(partition, None)

    def _check_record(self, entry: Entry, held: dict[int, Entry], read: dict[int, int]) -> None:
        (partition,), offset = entry.partitions, entry.offset
        assert offset is not None
        assert partition in held, f"{self.path.name}: a record of a partition that is not held: {entry}"
        assert read.get(partition, offset - 1) == offset - 1, f"{self.path.name}: a gap or a repetition: {entry}"
        # None means that the group dropped us a moment ago; on_lost comes with the next poll.
        assert entry.epoch in {held[partition].epoch, None}, f"{self.path.name}: {entry} under {held[partition]}"
        read[partition] = offset

    def spans(self) -> Iterator[Span]:
        """The times of each partition; records of a lost one that still came after the stop are outside."""
        held: dict[int, float] = {}
        for entry in self.entries:
            for partition in entry.partitions if entry.kind != "record" else ():
                if entry.kind == "assign":
                    held[partition] = entry.at
                else:
                    yield partition, held[partition], self._end(entry, held.pop(partition))
        for partition, start in held.items():
            yield partition, start, self._silent(start, float("inf"))

    def _end(self, entry: Entry, start: float) -> float:
        """When the process held the partition no longer. A revoke that waited while the process was stopped counts as a loss."""
        slept = any(start <= at <= entry.at for at in self.stopped_at)
        return self._silent(start, entry.at) if slept or entry.kind == "lost" else entry.at

    def _silent(self, start: float, end: float) -> float:
        """When the process became silent: a process that is stopped or killed may lose its partitions from then on."""
        stops = [at for at in self.stopped_at if at <= end]
        assert stops, f"{self.path.name}: partitions were lost without a stop before {end}"
        return next((at for at in stops if at >= start), start)


def assert_never_shared(diaries: Iterable[Diary]) -> None:
    """No partition was held by two processes at any moment."""
    # A callback that waited for a sleeper to wake up gave nothing to it, and what it gave was lost at once.
    spans = sorted((p, start, end) for diary in diaries for p, start, end in diary.spans() if end > start)
    for (partition, _, end), (following, start, _) in itertools.pairwise(spans):
        assert partition != following or end <= start, f"partition {partition} was held twice, until {end} from {start}"
