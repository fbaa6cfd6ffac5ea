"""Marks in a member's lane."""

from __future__ import annotations

from pathlib import Path

from membership_client.core.events import Budget, Warn
from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.report.content import Mark
from membership_client.errors import Problem, ProblemKind
from membership_client.trace import read_trace
from membership_client.trace.values import encode
from membership_client.types import MemberState
from tests.report.story import Story

S = MemberState


def marks(story: Story, folder: Path) -> list[Mark]:
    (lane,) = compose(read_trace(story.write(folder / "trace")), 2.0).members
    return list(lane.marks)


def test_leaving_is_marked_with_its_reason(tmp_path: Path) -> None:
    """As the application gave it."""
    (mark,) = marks(Story("m").tell(0, S.STABLE).tell(1, S.LEAVING, cause="closed: scaled down"), tmp_path)
    assert (mark.kind, mark.detail) == ("leave", "closed: scaled down")


def test_a_fatal_error_is_marked_with_what_it_says(tmp_path: Path) -> None:
    """And not as a problem that passes, too."""
    problem = encode(Problem(kind=ProblemKind.GROUP_DENIED, detail="may not read group g"))
    (mark,) = marks(Story("m").tell(0, S.JOINING).tell(1, S.FATAL, problem=problem), tmp_path)
    assert (mark.kind, mark.detail) == ("fatal", "may not read group g")


def test_a_problem_that_passes_is_marked_once(tmp_path: Path) -> None:
    """When it comes, and not for as long as it is there."""
    problem = encode(Problem(kind=ProblemKind.UNREACHABLE, detail="b:9092 closed the connection", number=1))
    story = (
        Story("m")
        .tell(0, S.STABLE)
        .tell(1, S.STABLE, problem=problem)
        .tell(2, S.STABLE)
        .tell(3, S.STABLE, problem=None)
    )
    (mark,) = marks(story, tmp_path)
    assert (mark.kind, mark.detail) == ("problem", "b:9092 closed the connection")


def test_a_warning_is_marked_once_and_with_the_stack_if_there_is_one(tmp_path: Path) -> None:
    """The step wants it, and the note that follows knows more."""
    warned = Story("m").tell(0, S.STABLE).tell(1, S.STABLE, effects=(Warn(Budget.POLL, 4.0, 5.0),))
    (bare,) = marks(warned, tmp_path)
    assert (bare.kind, bare.detail) == ("warning", "4 s of 5 s are gone.")
    (noted,) = marks(warned.note(1.01, "warning", budget="POLL", stack=["shop.py:9 in sell"]), tmp_path)
    assert noted.kind == "warning"
    assert "shop.py:9 in sell" in noted.detail


def test_refused_commits_are_marked_and_sums_of_others_are_not(tmp_path: Path) -> None:
    """A lane full of good news would hide the bad."""
    story = Story("m").tell(0, S.STABLE).note(1, "commits", count=7, slowest=0.1)
    (mark,) = marks(story.note(2, "commit refused", partitions=3, error="NotOwnedError", detail="t-1"), tmp_path)
    assert mark.kind == "failure"
    assert "error: NotOwnedError" in mark.detail
