"""What docs/debugging.md shows is what comes out."""

from __future__ import annotations

from pathlib import Path

from membership_client.debugger.commands.diagnose_command import report
from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.findings.finding import Kind
from membership_client.debugger.model.timeline import groups_of
from membership_client.debugger.report.page import answers_of
from tests.diagnose.traces import plan, script, sections_of
from tests.simulation.script import Mood, Script, Stall, Start

PAGE = (Path(__file__).parents[2] / "docs" / "debugging.md").read_text()


def incident() -> Script:
    """A third till opens while the first is slow to give anything up; later the second is stopped for a minute."""
    tills = [plan(name, instance_id=f"till-{name}", poll_interval_s=60.0) for name in "abc"]
    slow = Mood(at=20.0, until=26.0, who="a", slow_s=14.0)
    return script(
        tills, [Start(0.0, "a"), Start(1.0, "b"), slow, Start(20.0, "c"), Stall(60.0, "b", 118.0)], calm_at=130.0
    )


def test_the_sample_on_the_page_is_a_real_diagnosis() -> None:
    """Letter by letter."""
    groups = groups_of(sections_of(incident()), 2.0)
    lines = report(groups, [finding for group in groups for finding in findings_of(group)])
    assert "\n".join(lines).rstrip() in PAGE


def test_every_kind_of_finding_is_on_the_page() -> None:
    """With a line of its own."""
    assert [kind.name for kind in Kind if f"| {kind.name} |" not in PAGE] == []


def test_the_answer_of_a_report_says_whose_time_of_day_it_tells() -> None:
    """It is the line of `diagnose`, in UTC; beside it the page shows the same moments in its reader's zone."""
    assert answers_of(compose(sections_of(incident()), 2.0)).endswith(". Times in this line are UTC.")
