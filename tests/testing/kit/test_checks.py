"""The ready-made checks, each with a history that keeps the rule and one that breaks it."""

from __future__ import annotations

import pytest

from membership_client import TopicPartition
from membership_client.testing import (
    CheckError,
    Entry,
    History,
    Record,
    What,
    at_least_once,
    at_least_once_in,
    callbacks_within,
    everything_committed_before_release,
    exactly_once,
    exactly_once_in,
    no_commit_after_loss,
    nothing_processed_after_revoke,
    nothing_raised,
)
from membership_client.testing.kit.checks import Check

P = TopicPartition("orders", 0)
RECORDS = [Record(P, offset, b"key", b"value-%d" % offset, 0.0) for offset in range(2)]


def history(*lines: tuple[What, int | None] | What) -> History:
    """A history of one instance and one partition, with one entry per second."""
    told = History(records=list(RECORDS))
    for at, line in enumerate(lines):
        what, offset = line if isinstance(line, tuple) else (line, None)
        told.add(Entry(float(at), "a", what, (P,), offset))
    return told


BROKEN = [
    (nothing_processed_after_revoke, history(What.REVOKED, What.RETURNED, (What.PROCESSED, 0))),
    (nothing_processed_after_revoke, history(What.LOST, What.RETURNED, (What.PROCESSED, 0))),
    (nothing_processed_after_revoke, history(What.REVOKED, What.RAISED, (What.PROCESSED, 0))),
    (no_commit_after_loss, history(What.REVOKED, What.RETURNED, (What.COMMIT_SENT, 1))),
    (no_commit_after_loss, history(What.LOST, (What.COMMIT_SENT, 1))),
    (everything_committed_before_release, history(What.ASSIGNED, (What.PROCESSED, 0), What.RELEASED)),
    (everything_committed_before_release, history((What.PROCESSED, 1), (What.COMMITTED, 1), What.RELEASED)),
    (callbacks_within(0.5), history(What.REVOKED, What.RETURNED)),
    (callbacks_within(0.5), history(What.ASSIGNED, What.RAISED)),
    (at_least_once, history((What.PROCESSED, 0))),
    (exactly_once, history((What.PROCESSED, 0), (What.PROCESSED, 1), (What.PROCESSED, 0))),
    (exactly_once, history((What.PROCESSED, 1))),
    (at_least_once_in(lambda _: [b"value-0"]), history()),
    (exactly_once_in(lambda _: ["value-0", "value-1", "value-1"]), history()),
    (nothing_raised, history(What.RAISED)),
]

KEPT = [
    (nothing_processed_after_revoke, history(What.ASSIGNED, (What.PROCESSED, 0), What.REVOKED, (What.PROCESSED, 1))),
    (nothing_processed_after_revoke, history(What.LOST, What.RETURNED, What.ASSIGNED, (What.PROCESSED, 0))),
    (no_commit_after_loss, history(What.REVOKED, (What.COMMIT_SENT, 1), What.RETURNED)),
    (no_commit_after_loss, history(What.LOST, What.RETURNED, What.ASSIGNED, (What.COMMIT_SENT, 1))),
    (everything_committed_before_release, history((What.PROCESSED, 0), (What.COMMITTED, 1), What.RELEASED)),
    (everything_committed_before_release, history((What.PROCESSED, 0), What.LOST, What.RELEASED)),
    (callbacks_within(1), history(What.REVOKED, What.RETURNED)),
    (at_least_once, history((What.PROCESSED, 0), (What.PROCESSED, 0), (What.PROCESSED, 1))),
    (exactly_once, history((What.PROCESSED, 1), (What.PROCESSED, 0))),
    (at_least_once_in(lambda _: ["value-0", "value-1", "value-1"]), history()),
    (exactly_once_in(lambda _: [b"value-1", "value-0"]), history()),
    (nothing_raised, history(What.RETURNED)),
]


def _name(value: object) -> str:
    return getattr(value, "__name__", type(value).__name__) if callable(value) else ""


@pytest.mark.parametrize(("check", "broken"), BROKEN, ids=_name)
def test_broken(check: Check, broken: History) -> None:
    """The error says what is wrong, and names the entry or the partition."""
    with pytest.raises(CheckError) as failed:
        check(broken)
    assert failed.value.partition == P


@pytest.mark.parametrize(("check", "kept"), KEPT, ids=_name)
def test_kept(check: Check, kept: History) -> None:
    """Nothing is raised."""
    check(kept)
    assert isinstance(kept, History)


def test_what_was_committed_by_another_instance_counts() -> None:
    """The broker has one offset for a partition, whichever member committed it."""
    told = history((What.PROCESSED, 0))
    told.add(Entry(1.0, "b", What.COMMITTED, (P,), 1))
    told.add(Entry(2.0, "a", What.RELEASED, (P,)))
    everything_committed_before_release(told)
    assert told.committed == {P: 1}


def test_callbacks_are_listed_in_their_order() -> None:
    """They have the names that applications give them."""
    assert history(What.ASSIGNED, What.RETURNED, What.LOST).callbacks == [
        ("a", "on_assign", (P,)),
        ("a", "on_lost", (P,)),
    ]
