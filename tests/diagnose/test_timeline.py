"""From files to histories: restarts, rotation, copies, several groups, clocks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from membership_client.core.events import Close, GroupLeft, Heartbeat, LeaveGroup, Refused, Subscribe
from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.model.timeline import Group, groups_of
from membership_client.trace import Journal, Section, TraceError, read_trace
from membership_client.trace.trace_file import TraceFile
from membership_client.types import MemberState
from tests.core.play import orders
from tests.diagnose.traces import EPOCH_S, Recorded, faults, section_of, sections_of
from tests.simulation.generate import script_of
from tests.trace.test_replay import longest_life, recorded


def the_group(sections: list[Section]) -> Group:
    (group,) = groups_of(sections, 2.0)
    return group


def closed(name: str, **overrides: object) -> Recorded:
    member = Recorded.named(name, **overrides).owning(0, 1)  # type: ignore[arg-type]
    member.told(orders(0))
    member.now += 1.5
    member.returns()
    member.do(Close(timeout_s=5.0, reason="done"))
    member.returns()
    member.answer(LeaveGroup, GroupLeft())
    return member


def test_a_life_has_its_calls_beats_holdings_and_stays() -> None:
    """Each with the moments that show it."""
    (life,) = the_group([closed("a").section()]).runs
    assert [(call.kind.value, call.returned) for call in life.calls] == [
        ("assigned", True),
        ("revoked", True),
        ("revoked", True),
    ]
    assert life.calls[1].lasted_s == 1.5
    assert [(str(held.partition), held.is_open) for held in life.owned_periods] == [
        ("orders-1", False),
        ("orders-0", False),
    ]
    (stay,) = life.memberships
    assert (stay.ending.name, stay.reason, stay.last_epoch) == ("LEFT", "done", 2)
    assert all(beat.accepted for beat in life.heartbeats[:-1])
    assert life.stop is not None
    assert life.stop.state is MemberState.UNSUBSCRIBED
    assert life.began == EPOCH_S + 1000.0


def test_a_member_that_leaves_after_an_error_was_ended_by_it() -> None:
    """Its partitions were lost, although the coordinator was told."""
    member = Recorded.named("a").owning(0)
    member.do(Subscribe(regex="(("))
    member.answer(Heartbeat, Refused(128))
    member.returns()
    member.answer(LeaveGroup, GroupLeft())
    (life,) = the_group([member.section()]).runs
    (stay,) = life.memberships
    assert (stay.ending.name, stay.reason) == ("FATAL", "ended by an error: invalid regex")


def test_two_runs_in_one_file_are_two_lives(tmp_path: Path) -> None:
    """A restarted process goes on in the same file; what it says of lines is said of that file."""
    path = tmp_path / "trace"
    path.write_text("\n".join([*closed("a").kept.lines, *closed("b", now=2000.0).kept.lines]) + "\n")
    lives = the_group(read_trace(path)).runs
    assert [life.member_id for life in lives] == ["a", "b"]
    assert json.loads(path.read_text().splitlines()[lives[1].entries[0].line - 1])["at"] == lives[1].entries[0].at


def test_rotated_files_are_one_life(tmp_path: Path) -> None:
    """Whatever the order in which they are given."""
    steps = longest_life()
    parts = recorded(steps, tmp_path / "trace", max_bytes=10_000)
    (life,) = the_group([section for path in parts for section in read_trace(path)]).runs
    assert len(life.steps) == len(steps)
    assert [moment.at for moment in life.entries] == [step.at for step in steps]
    assert life.steps[-1].owned == frozenset(steps[-1].after.owned.named(steps[-1].after.names))


def test_what_lies_between_two_files_is_no_gap() -> None:
    """The one in between may just be missing."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    later_s = 300.0
    start = replace(member.member, heartbeat_due=member.now + later_s)
    again = Recorded(start, now=member.now + later_s).stays_stable(20.0)
    assert faults([member.section("t.2"), again.section("t")]) == []


def test_a_trace_that_was_saved_beside_its_file_counts_once(tmp_path: Path) -> None:
    """The same entries, behind another header."""
    steps = longest_life()
    journal = Journal(steps[0].before, TraceFile(tmp_path / "trace", max_bytes=10**9, keep=1))
    for step in steps:
        journal.on_step(step)
    journal.close()
    journal.save(tmp_path / "saved")
    both = read_trace(tmp_path / "trace") + read_trace(tmp_path / "saved")
    (life,) = the_group(both).runs
    assert len(life.steps) == len(steps)


def test_groups_are_told_apart() -> None:
    """Findings come group by group."""
    sections = [closed(name, **{"group.id": group}).section(name) for name, group in [("a", "shop"), ("b", "bank")]]
    assert [group.name for group in groups_of(sections, 2.0)] == ["bank", "shop"]
    assert [finding.group for finding in diagnose(sections)] == ["bank", "shop"]


def test_an_event_that_this_version_does_not_know_is_refused_with_its_line() -> None:
    """Nothing is guessed."""
    lines = [line.replace('"is":"Subscribe"', '"is":"Proscribe"') for line in closed("a").kept.lines]
    with pytest.raises(TraceError, match="line 2: 'Proscribe' is missing"):
        diagnose([section_of(lines, "a.jsonl")])


@pytest.mark.parametrize("line", ['{"at":"soon","state":"STABLE"}', '{"at":1.0}', '{"at":1.0,"state":"ODD","epoch":1}'])
def test_a_line_that_is_not_of_a_trace_is_refused(line: str) -> None:
    """It is JSON, but nothing that a member writes."""
    with pytest.raises(TraceError, match=r"a\.jsonl, line 3"):
        diagnose([section_of([*closed("a").kept.lines[:2], line], "a.jsonl")])


def test_a_header_that_says_nothing_is_refused() -> None:
    """Whose trace would it be?"""
    section = closed("a").section()
    with pytest.raises(TraceError, match="line 1: 'group' is missing"):
        diagnose([replace(section, header={"trace": 1})])


def test_a_header_alone_is_no_life() -> None:
    """The process ended before anything happened."""
    section = closed("a").section()
    assert groups_of([replace(section, entries=[])], 2.0) == ()


def test_every_line_of_evidence_is_where_it_is_said_to_be() -> None:
    """File and line lead to an entry of that very time."""
    sections = sections_of(script_of(3))
    entries = {(s.path, s.line + 1 + i): s.wall(entry["at"]) for s in sections for i, entry in enumerate(s.entries)}
    lines = [line for finding in diagnose(sections) for line in finding.evidence]
    assert lines
    assert all(entries[line.path, line.line] == pytest.approx(line.time) for line in lines)
