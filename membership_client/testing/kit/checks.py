"""Ready-made checks of a history. A check is any function of a `History` that raises AssertionError.

Each of them holds for a program that keeps one rule of consumer groups. The author of a program decides which rules it keeps.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from membership_client.arguments import checked_function, checked_items, checked_seconds
from membership_client.testing.kit.history import Entry, History, What
from membership_client.types import TopicPartition


class CheckError(AssertionError):
    """A check failed. `entry` is the entry that broke the rule, if there is one; `partition` is the partition that it is about."""

    def __init__(self, text: str, *, entry: Entry | None = None, partition: TopicPartition | None = None) -> None:
        about = entry.partitions[0] if partition is None and entry is not None and entry.partitions else partition
        super().__init__(text if entry is None else f"{text}\n{entry.about(about)}")
        self.entry = entry
        self.partition = about


Check: TypeAlias = Callable[[History], None]


def checked_checks(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks. ConfigError unless each is a function of a history."""
    return checked_items("checks", checks, _checked_check)


def _checked_check(name: str, check: Check) -> Check:
    checked_function(name, check, "a history")
    return check


# --- what happened, for a check that failed --------------------------------------------------------------------------

_SHOWN_LINES = 40
_ABOUT_ALL = {What.EVENT, What.STARTED, What.ENDED, What.RAISED}


def told_lines(history: History, error: AssertionError) -> list[str]:
    """The lines of the history up to the entry that broke the check; only those about the check's partition, if it names one."""
    last, about = getattr(error, "entry", None), getattr(error, "partition", None)
    end = next((index for index, entry in enumerate(history.entries, 1) if entry is last), len(history.entries))
    entries = [e for e in history.entries[:end] if about is None or about in e.partitions or e.what in _ABOUT_ALL]
    lines = [str(entry if about is None else entry.about(about)) for entry in entries]
    left_out = [f"         ... {len(lines) - _SHOWN_LINES} earlier lines ..."] if len(lines) > _SHOWN_LINES else []
    return [*left_out, *lines[-_SHOWN_LINES:]]


@contextlib.contextmanager
def told_what_happened(history: History) -> Iterator[None]:
    """Runs checks in its `with` block. A failed check gets a note with the end of the history, which pytest shows."""
    try:
        yield
    except AssertionError as error:
        error.add_note("\n".join(["", "What happened:", "", *told_lines(history, error)]))
        raise


# --- the checks ------------------------------------------------------------------------------------------------------

_BEGAN = {What.ASSIGNED, What.REVOKED, What.LOST}
_ENDED = {What.RETURNED, What.RAISED}
_GONE = {What.RETURNED, What.LOST}
_Told: TypeAlias = dict[tuple[str, TopicPartition], What]
"""By instance and partition: the callback that began last, or RETURNED if it revoked the partition and has returned."""


def _told(history: History) -> Iterator[tuple[Entry, _Told]]:
    """Each entry, with the callbacks that each instance had for each partition before it."""
    told: _Told = {}
    for entry in history.entries:
        yield entry, told
        for key in ((entry.instance, partition) for partition in entry.partitions):
            if entry.what in _BEGAN:
                told[key] = entry.what
            elif entry.what in _ENDED and told.get(key) in {What.REVOKED, What.LOST}:
                told[key] = What.RETURNED


def nothing_processed_after_revoke(history: History) -> None:
    """No instance processes a record of a partition after `on_revoke` or `on_lost` for it has returned."""
    for entry, told in _told(history):
        if entry.what is What.PROCESSED and told.get((entry.instance, entry.partitions[0])) is What.RETURNED:
            raise CheckError("A record was processed after its partition was revoked or lost:", entry=entry)


def no_commit_after_loss(history: History) -> None:
    """No instance commits offsets of a partition after `on_revoke` for it has returned, or `on_lost` has begun."""
    for entry, told in _told(history):
        if entry.what is What.COMMIT_SENT and told.get((entry.instance, entry.partitions[0])) in _GONE:
            raise CheckError("An offset was committed after its partition was revoked or lost:", entry=entry)


def everything_committed_before_release(history: History) -> None:
    """When a revoked partition is released, the offset after the last processed record is committed."""
    processed: dict[tuple[str, TopicPartition], int] = {}
    committed: dict[TopicPartition, int] = {}
    for entry in history.entries:
        for partition in entry.partitions:
            key = entry.instance, partition
            if entry.what in {What.ASSIGNED, What.LOST}:
                processed.pop(key, None)
            elif entry.what is What.PROCESSED:
                processed[key] = max(processed.get(key, 0), (entry.offset or 0) + 1)
            elif entry.what is What.COMMITTED:
                committed[partition] = entry.offset or 0
            elif entry.what is What.RELEASED and committed.get(partition, 0) < processed.pop(key, 0):
                text = "A partition was released before everything that was processed was committed:"
                raise CheckError(text, entry=entry, partition=partition)


def at_least_once(history: History) -> None:
    """Every record was processed."""
    _compare(history, [record.value for record in history.processed], most=None)


def exactly_once(history: History) -> None:
    """Every record was processed, and no record twice."""
    _compare(history, [record.value for record in history.processed], most=1)


Output: TypeAlias = Callable[[dict[str, Any]], Iterable[bytes | str]]


@dataclass(frozen=True)
class at_least_once_in:  # noqa: N801 - used as a function
    """Every record's value is in what `output(durable)` returns, such as the content of a database."""

    output: Output

    def __repr__(self) -> str:
        return f"at_least_once_in({getattr(self.output, '__name__', self.output)})"

    def __post_init__(self) -> None:
        checked_function("output", self.output, "the dict `durable` of the run")

    def __call__(self, history: History) -> None:
        _compare(history, self.output(history.durable), most=None)


@dataclass(frozen=True)
class exactly_once_in:  # noqa: N801 - used as a function
    """Every record's value is in what `output(durable)` returns, and no value twice."""

    output: Output

    def __repr__(self) -> str:
        return f"exactly_once_in({getattr(self.output, '__name__', self.output)})"

    def __post_init__(self) -> None:
        checked_function("output", self.output, "the dict `durable` of the run")

    def __call__(self, history: History) -> None:
        _compare(history, self.output(history.durable), most=1)


def _compare(history: History, values: Iterable[bytes | str], *, most: int | None) -> None:
    counts = Counter(value.encode() if isinstance(value, str) else value for value in values)
    for record in history.records:
        count = counts[record.value]
        what = f"{record.partition.topic}-{record.partition.partition}@{record.offset} ({record.value!r})"
        if count == 0:
            raise CheckError(f"Record {what} is missing in the output.", partition=record.partition)
        if most is not None and count > most:
            raise CheckError(f"Record {what} is in the output {count} times.", partition=record.partition)


@dataclass(frozen=True)
class callbacks_within:  # noqa: N801 - used as a function
    """Every callback returns within `budget_s` seconds."""

    budget_s: float

    def __post_init__(self) -> None:
        checked_seconds("budget_s", self.budget_s)

    def __call__(self, history: History) -> None:
        began: dict[str, Entry] = {}
        for entry in history.entries:
            if entry.what in _BEGAN:
                began[entry.instance] = entry
            elif entry.what in _ENDED and entry.instance in began:
                took_s = entry.at - began[entry.instance].at
                if took_s > self.budget_s:
                    raise CheckError(f"A callback took {took_s:.3f} s; its budget is {self.budget_s:g} s:", entry=entry)


def nothing_raised(history: History) -> None:
    """Neither the program nor a callback raised. Without this check, a program that ends by a KafkaException is started again."""
    for entry in history.of(What.RAISED):
        raise CheckError("The program raised:", entry=entry)


CHECKS: tuple[Check, ...] = (
    nothing_processed_after_revoke,
    everything_committed_before_release,
    no_commit_after_loss,
    at_least_once,
)
"""The checks of `explore` and `play` if none are given."""
