"""Commits in a trace."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from membership_client import MemberConfig, NotOwnedError
from membership_client.core.member import Member
from membership_client.trace import Journal
from membership_client.trace.journal import CommitTally

CLOCK = "membership_client.trace.journal.time.monotonic"
MEMBER = Member(config=MemberConfig(bootstrap_servers="b:1", group_id="g"), member_id="m")


def test_a_refused_commit_is_told_at_once() -> None:
    """The entry has its error, and the time that it took."""
    journal = Journal(MEMBER)
    with pytest.raises(NotOwnedError), CommitTally(journal).commit(3):
        raise NotOwnedError("Not owned any more: t-1.")
    entry = json.loads(journal.lines()[-1])
    assert (entry["note"], entry["error"], entry["partitions"]) == ("commit refused", "NotOwnedError", 3)
    assert entry["detail"] == "Not owned any more: t-1."


def test_a_thousand_commits_do_not_push_out_what_matters() -> None:
    """They are summed up about once a second, and none is left out; those of the last second once were."""
    journal = Journal(MEMBER)
    tally = CommitTally(journal)
    for _ in range(1000):
        with tally.commit(1):
            pass
    tally.sum_up()
    tally.sum_up()
    sums = [json.loads(line) for line in journal.lines()[1:]]
    assert len(sums) < 100
    assert {entry["note"] for entry in sums} == {"commits"}
    assert sum(entry["count"] for entry in sums) == 1000
    assert all(entry["slowest"] > 0 for entry in sums)


def test_commits_are_summed_up_once_a_second_with_the_slowest() -> None:
    """The second is by the member's clock; each sum begins at zero."""
    journal = Journal(MEMBER)
    with mock.patch(CLOCK) as clock:
        clock.return_value = 100.0
        tally = CommitTally(journal)
        for began_at, ended_at in (
            (100.0, 100.25),
            (100.25, 100.375),
            (100.5, 101.0),
            (101.0, 101.125),
            (101.5, 102.0),
        ):
            clock.return_value = began_at
            with tally.commit(1):
                clock.return_value = ended_at
        clock.return_value = 102.5
        with tally.commit(1):
            clock.return_value = 102.625
        tally.sum_up()
    sums = [json.loads(line) for line in journal.lines()[1:]]
    assert [(entry["count"], entry["slowest"]) for entry in sums] == [(3, 0.5), (2, 0.5), (1, 0.125)]


def test_a_refused_commit_is_told_with_how_long_it_took() -> None:
    """The time is in seconds."""
    journal = Journal(MEMBER)
    with (
        mock.patch(CLOCK, side_effect=[100.0, 100.0, 100.5, 100.5]),
        pytest.raises(NotOwnedError),
        CommitTally(journal).commit(1),
    ):
        raise NotOwnedError("Not owned any more: t-1.")
    assert json.loads(journal.lines()[-1])["took"] == 0.5
