"""Commits in a trace."""

from __future__ import annotations

import json

import pytest

from membership_client import MemberConfig, NotOwnedError
from membership_client.core.member import Member
from membership_client.trace import Journal
from membership_client.trace.commit_tally import CommitTally

MEMBER = Member(config=MemberConfig(bootstrap_servers="b:1", group_id="g"), member_id="m")


def test_a_refused_commit_is_told_at_once() -> None:
    """With its error, and how long it took to learn."""
    journal = Journal(MEMBER)
    with pytest.raises(NotOwnedError), CommitTally(journal).commit(3):
        raise NotOwnedError("Not owned any more: t-1.")
    entry = json.loads(journal.lines()[-1])
    assert (entry["note"], entry["error"], entry["partitions"]) == ("commit refused", "NotOwnedError", 3)
    assert entry["detail"] == "Not owned any more: t-1."


def test_a_thousand_commits_do_not_push_out_what_matters() -> None:
    """They are summed up, about once a second, and none is left out: those of the last second were."""
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
