"""The history of a run: its entries in their order. Checks look only at this."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from membership_client.types import TopicPartition


class What(enum.Enum):
    """The kind of an entry. The value is the word in its text."""

    EVENT = "event"
    """An event of the story, or a call of the test. The text names it."""
    STARTED = "starts"
    ENDED = "ends"
    RAISED = "raises"
    """The program, one of its threads or a callback raised the exception in the text."""
    ASSIGNED = "on_assign begins"
    REVOKED = "on_revoke begins"
    LOST = "on_lost begins"
    RETURNED = "the callback returns"
    """The partitions are those of the callback that began last in this instance."""
    RELEASED = "releases"
    """The partitions of a revoke are released: its callback has returned, and other members may get them."""
    PROCESSED = "processes"
    COMMIT_SENT = "asks to commit"
    COMMITTED = "has committed"
    """The broker has accepted the offset."""
    COMMIT_REFUSED = "is refused the commit of"


NO_CALLBACK = "(no callback is set)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `at` is in seconds since the run began."""

    at: float
    instance: str
    """The name of the instance; empty if the entry is about the whole group."""
    what: What
    partitions: tuple[TopicPartition, ...] = ()
    offset: int | None = None
    """The offset of the processed record; in a commit, that of the next record to read."""
    text: str = ""

    def about(self, partition: TopicPartition | None) -> Entry:
        """The entry without other partitions, if it is about this one; otherwise the whole entry."""
        return (
            replace(self, partitions=(partition,)) if partition is not None and partition in self.partitions else self
        )

    def __str__(self) -> str:
        where = ", ".join(f"{p.topic}-{p.partition}" for p in self.partitions)
        offset = "" if self.offset is None else f"@{self.offset}"
        who = self.instance or "-"
        return " ".join(
            part for part in (f"{self.at:8.3f} s  {who:4}", self.what.value, where + offset, self.text) if part
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A record that a run has produced."""

    partition: TopicPartition
    offset: int
    key: bytes
    value: bytes
    at: float
    """When the record can be read, in seconds since the run began."""


@dataclass
class History:
    """The entries of a run in their order, its records, and `durable`, the dict in which the instances kept their results."""

    records: list[Record] = field(default_factory=list)
    others: dict[tuple[TopicPartition, int], Record] = field(default_factory=dict)
    """Processed records by partition and offset, for records that the run may not have produced."""
    entries: list[Entry] = field(default_factory=list)
    durable: dict[str, Any] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)

    def of(self, *kinds: What) -> Iterator[Entry]:
        """The entries of these kinds, in their order."""
        return (entry for entry in self.entries if entry.what in kinds)

    @property
    def processed(self) -> list[Record]:
        """The records in the order in which the instances processed them. A record that was processed twice is there twice."""
        known = {**self.others, **{(record.partition, record.offset): record for record in self.records}}
        return [known[entry.partitions[0], entry.offset or 0] for entry in self.of(What.PROCESSED)]

    @property
    def callbacks(self) -> list[tuple[str, str, tuple[TopicPartition, ...]]]:
        """Instance, callback (`on_assign`, `on_revoke`, `on_lost`) and partitions, in the order in which they began.

        Changes of partitions for which the program has no callback are only in `entries`.
        """
        began = (entry for entry in self.of(What.ASSIGNED, What.REVOKED, What.LOST) if entry.text != NO_CALLBACK)
        return [(entry.instance, entry.what.value.split()[0], entry.partitions) for entry in began]

    @property
    def committed(self) -> dict[TopicPartition, int]:
        """The newest accepted offset of each partition."""
        return {entry.partitions[0]: entry.offset or 0 for entry in self.of(What.COMMITTED)}

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))


def as_partitions(partitions: Iterable[Any]) -> tuple[TopicPartition, ...]:
    """Partitions of this library or of confluent-kafka, as sorted partitions of this library."""
    return tuple(sorted(TopicPartition(each.topic, each.partition) for each in partitions))
