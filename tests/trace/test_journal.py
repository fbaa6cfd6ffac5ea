"""What the journal writes of each step, and what it keeps in memory."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from membership_client import trace
from membership_client.core.events import FindCoordinator, Send, Stop, Tick
from membership_client.core.machine import Step
from membership_client.core.member import TopicCheck
from membership_client.trace.journal import Journal
from membership_client.trace.trace_file import TraceFile
from membership_client.trace.values import encode
from tests.diagnose.traces import EPOCH_S, Recorded


def entries(member: Recorded) -> list[dict[str, Any]]:
    return [json.loads(line) for line in member.kept.lines[1:]]


def written(member: Recorded, field: str) -> list[Any]:
    return [entry[field] for entry in entries(member) if field in entry]


def test_what_did_not_change_is_written_once() -> None:
    """A cause and the owned partitions are in the step that changed them."""
    member = Recorded.named("a").owning(0, 1).stays_stable(20.0)
    assert written(member, "cause") == ["joined the group"]
    assert written(member, "owned") == [{"orders": "0-1"}]
    assert written(member, "missing") == []
    assert written(member, "problem") == []


def test_a_cause_that_is_gone_is_not_written() -> None:
    """The last cause is in the trace already."""
    member = Recorded.named("a").owning(0)
    before = member.member
    member.journal.on_step(Step(1.0, before, Tick(), (), replace(before, cause=None)))
    assert written(member, "cause") == ["joined the group"]


def test_topics_that_do_not_exist_are_written_when_they_change() -> None:
    """They are written by name, with a similar name that exists, if there is one."""
    member = Recorded.named("a").owning(0)
    before = member.member
    after = replace(before, topic_check=TopicCheck(missing={"bills": None}))
    member.journal.on_step(Step(1.0, before, Tick(), (), after))
    member.journal.on_step(Step(2.0, after, Tick(), (), after))
    assert written(member, "missing") == [{"bills": None}]


def test_every_step_has_the_processor_time_so_far() -> None:
    """The time has microseconds."""
    member = Recorded.named("a")
    member.cpu_s = 1.23456789
    member.owning(0)
    assert set(written(member, "cpu")) == {1.234568}
    assert len(written(member, "cpu")) == len(entries(member))


def test_a_step_has_its_effects() -> None:
    """A step without effects has no such key."""
    member = Recorded.named("a").owning(0)
    before, steps = member.member, len(entries(member))
    for effects in ((), (Stop(),)):
        member.journal.on_step(Step(1.0, before, Tick(), effects, before))
    assert [entry.get("effects") for entry in entries(member)[steps:]] == [None, [{"is": "Stop"}]]


def test_only_a_late_heartbeat_is_said_to_be_late() -> None:
    """The delay has microseconds. Other requests have no time at which they are due."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.journal.on_step(Step(member.now + 60.0, member.member, Tick(), (), member.member))
    assert written(member, "late") == []
    member.now = member.member.heartbeat_due + 7.12345678
    member.do(Tick())
    assert written(member, "late") == [7.123457]


@pytest.mark.parametrize(("late_s", "told"), [(0.009, []), (0.011, [0.011])])
def test_less_than_ten_milliseconds_are_on_time(late_s: float, told: list[float]) -> None:
    """Every machine is late by that much."""
    member = Recorded.named("a", now=0.0).owning(0)
    member.member = replace(member.member, heartbeat_due=64.0)
    member.now = 64.0 + late_s
    member.do(Tick())
    assert written(member, "late") == told


@pytest.mark.parametrize(
    ("kind", "at", "told"), [("Heartbeat", 0.02, []), ("Heartbeat", 0.03, [0.02]), ("other", 9.0, [])]
)
def test_lateness_is_that_of_a_heartbeat(kind: str, at: float, told: list[float]) -> None:
    """A delay of exactly ten milliseconds does not count; another request may be sent while a heartbeat is overdue."""
    member = Recorded.named("a").owning(0)
    member.now = member.member.heartbeat_due
    sent = member.do(Tick())
    (request,) = [effect for effect in sent if isinstance(effect, Send)]
    effect = request if kind == "Heartbeat" else replace(request, request=FindCoordinator(group_id="g"))
    before = replace(member.member, heartbeat_due=0.01)
    member.journal.on_step(Step(at, before, Tick(), (effect,), before))
    assert written(member, "late") == told


@pytest.mark.parametrize(("slept_s", "told"), [(0.75, []), (1.0, [1.0]), (1.12345678, [1.123457])])
def test_a_clock_that_is_set_by_a_second_has_jumped(slept_s: float, told: list[float]) -> None:
    """A smaller difference is kept, and reported with what is added to it later."""
    member = Recorded.named("a", now=0.0)
    member.slept_s = slept_s
    member.do(Tick())
    assert written(member, "jumped") == told


def test_a_header_has_both_clocks() -> None:
    """It has the time of day that belongs to the time of the member's own clock."""
    member = Recorded.named("a", now=1000.0)
    header = json.loads(member.kept.lines[0])
    assert (header["at"], header["wall"]) == (1000.0, EPOCH_S + 1000.0)
    member.now = 1005.0
    with member.clock():
        saved = json.loads(member.journal.lines()[0])
    assert (saved["at"], saved["wall"], saved.get("dropped")) == (1005.0, EPOCH_S + 1005.0, None)


def test_the_last_hundred_entries_are_in_memory_with_the_member_before_them() -> None:
    """There are two parts of a hundred entries; a replay can start at the beginning of the older one."""
    member = Recorded.named("a").owning(0)
    steps = len(entries(member))
    counts = []
    for number in range(250):
        member.note("commits", number=number)
        counts.append(len(member.journal.lines()) - 1)
    assert counts[: 200 - steps] == list(range(steps + 1, 201))
    assert counts[200 - steps] == 101
    start = json.loads(member.journal.lines()[0])["start"]
    assert start == json.loads(json.dumps(encode(member.member)))


def test_a_journal_without_a_file_has_nothing_to_flush() -> None:
    """The flush returns True at once."""
    assert Journal(Recorded.named("a").member).flush(0.0)


def test_a_forked_child_records_without_the_file(tmp_path: Path) -> None:
    """The child waits neither for a lock that a thread of the parent held, nor for the thread that writes."""
    journal = Journal(Recorded.named("a").member, TraceFile(tmp_path / "t", max_bytes=10**6, keep=1))
    assert journal.flush()
    with journal._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            journal.after_fork()
            journal.note("commits", count=1)
            os._exit(0 if journal.flush(0.0) else 1)
    assert os.waitpid(child, 0)[1] == 0
    journal.close()


def test_what_is_not_exported_is_no_attribute() -> None:
    """The names of readers are found when they are first used."""
    assert trace.read_trace is not None
    with pytest.raises(AttributeError, match=r"module 'membership_client\.trace' has no attribute 'replay'"):
        _ = trace.replay
