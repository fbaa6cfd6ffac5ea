"""The summary finds in the recording what did not come out as expected."""

from __future__ import annotations

import pytest

from membership_client import MemberState
from membership_client.demo.events import DemoEvent, StepKind
from membership_client.demo.summary import Summary, plain_lines, summarize, verdict
from tests.demo.recorded import (
    Recorded,
    began,
    closed,
    ended,
    gives,
    gone,
    group,
    reasons,
    restart,
    seen,
    settled_pair,
    stage,
    started,
    takes,
)


def unmet(summary: Summary) -> list[str]:
    return [check.text for _, checks in summary.steps for check in checks if not check.met]


def test_a_restart_nobody_noticed_is_as_expected() -> None:
    summary = summarize(restart())
    assert unmet(summary) == []
    assert summary.as_expected
    assert verdict(summary) == "All 10 expectations were met."


def test_the_time_without_an_owner_is_measured_between_two_owners() -> None:
    facts = summarize(restart()).steps[1][0]
    assert facts.ownerless_s == {1: pytest.approx(1.0)}
    assert facts.recovered_s == {"b": pytest.approx(0.5)}


@pytest.mark.parametrize(
    ("recording", "complaint"),
    [
        (restart(epoch=5), "the group epoch rose from 3 to 5"),
        (restart(gives(5.1, "a", 1, 0), takes(5.2, "a", 1, 0)), "the others ran 2 callbacks and saw 0 rebalances"),
        (restart(seen(5.1, "a", 1, MemberState.RECONCILING)), "the others ran 0 callbacks and saw 1 rebalances"),
        (restart(takes(5.1, "a", 1, 1)), "two members owned the same partition at once: 1"),
        (restart(gets=()), "without an owner at the end: 1"),
        (restart(gets=()), "b owned 1, now nothing"),
    ],
)
def test_what_a_restart_must_not_do_is_said(recording: Recorded, complaint: str) -> None:
    """Each of these breaks one promise of static membership."""
    summary = summarize(recording)
    assert complaint in unmet(summary)
    assert not summary.as_expected
    assert "    NOT AS EXPECTED: " + complaint in plain_lines(summary)
    assert plain_lines(summary)[-1].startswith("NOT AS EXPECTED")


def test_a_killed_member_owns_nothing_from_its_end_on() -> None:
    """It cannot report that it gave up its partitions, so it owns them until its process ends."""
    killed: Recorded = [
        *settled_pair(),
        began(4, StepKind.TAKEOVER, "b", number=2, of=2),
        gone(4.2, "b", 2, code=-9),
        started(5, "b", 3),
        takes(5.7, "b", 3, 1),
        group(6, 3),
        ended(6.1, number=2),
    ]
    summary = summarize(killed)
    assert summary.as_expected
    assert summary.steps[1][0].ownerless_s == {1: pytest.approx(1.5)}


def test_a_group_that_does_not_settle_is_not_as_expected() -> None:
    summary = summarize([stage(), began(1, StepKind.JOIN, "a", of=5), started(1, "a", 1), ended(31, settled=False)])
    assert "the group did not settle within 30.0 s" in unmet(summary)
    assert "4 steps were not reached" in verdict(summary)


def test_a_step_that_never_ended_counts_as_not_settled() -> None:
    summary = summarize([stage(), began(1, StepKind.JOIN, "a"), started(1.5, "a", 1)])
    assert "the group did not settle within 0.5 s" in unmet(summary)


def test_an_empty_recording_proves_nothing() -> None:
    assert not summarize([]).as_expected


def test_a_latecomer_may_take_partitions_but_bystanders_may_not_swap_theirs() -> None:
    def late(*moves: DemoEvent) -> Recorded:
        step = began(4, StepKind.LATE, "c", number=2, of=2)
        return [*settled_pair(), step, started(4.1, "c", 3), *moves, group(6, 4), ended(6.1, number=2)]

    fair = summarize(late(gives(4.5, "a", 1, 0), takes(4.6, "c", 3, 0)))
    unfair = summarize(late(gives(4.5, "a", 1, 0), gives(4.5, "b", 2, 1), takes(5, "b", 2, 0), takes(5, "c", 3, 1)))
    assert fair.as_expected
    assert fair.steps[1][0].moved == {0: ("a", "c")}
    assert unmet(unfair) == ["moved between members that stayed: 0"]


def leave(*, clean: bool = True, members_left: int = 0, logged: tuple[str, ...] = ("done",)) -> Recorded:
    return [
        *settled_pair(),
        began(4, StepKind.LEAVE, "ab", number=2, of=2),
        gives(4.5, "a", 1, 0),
        gives(4.5, "b", 2, 1),
        closed(4.6, "a", 1),
        closed(4.6, "b", 2, clean=clean),
        reasons(5, *logged),
        group(5, 5, members_left),
        ended(5.1, number=2),
    ]


@pytest.mark.parametrize(
    ("recording", "complaints"),
    [
        (leave(), []),
        (leave(clean=False), ["b left: confirmed"]),
        (leave(members_left=1), ["the coordinator counts 1 members"]),
        (leave(logged=()), ["the broker's log has 0 of 1 reasons for leaving"]),
    ],
)
def test_a_farewell_is_checked_with_the_coordinator(recording: Recorded, complaints: list[str]) -> None:
    assert unmet(summarize(recording)) == complaints
