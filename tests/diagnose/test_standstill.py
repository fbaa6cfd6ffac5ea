"""PROCESS_STOPPED and INTERPRETER_BLOCKED, told apart by the processor time of the process."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    ClassicHeartbeat,
    DescribeTopics,
    GroupSynced,
    Heartbeat,
    JoinGroup,
    MemberIdGiven,
    Refused,
    SyncGroup,
    Tick,
)
from membership_client.debugger.findings.finding import Finding, Kind
from tests.core.classic_play import admitted, share
from tests.core.play import accepted
from tests.diagnose.traces import Recorded, RecordedClassic, faults, the

UNKNOWN_MEMBER = Refused(25, "who?")


def stood_still(seconds: float, cpu_s: float, *, fenced: bool = True, notes: int = 0) -> list[Finding]:
    """A member that was stable, did nothing for so long, and then went on."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    for _ in range(notes):
        member.now += seconds / (notes + 1)
        member.note("commits", count=1, slowest=0.0)
    member.now += seconds / (notes + 1)
    member.cpu_s += cpu_s
    member.do(Tick())
    if fenced:
        member.answer(Heartbeat, UNKNOWN_MEMBER)
    else:
        member.stays_stable(5.0)
    return faults([member.section()])


def test_a_process_that_was_stopped_used_no_processor() -> None:
    """And its session ended meanwhile."""
    finding = the(Kind.PROCESS_STOPPED, stood_still(60.0, 0.01))
    assert finding.sentence == (
        "a:7 did nothing for 60.0 s, while its process used 0.0 s of processor time: the process stood still or got no "
        "processor; its session ended meanwhile, and the coordinator fenced it. It owned orders[0] all the time."
    )
    assert finding.certainty == "certain"
    assert [line.text for line in finding.evidence][-1] == "UNKNOWN_MEMBER_ID: who?"


def test_an_interpreter_that_was_blocked_used_all_of_it() -> None:
    """One thread worked and let no other run."""
    finding = the(Kind.INTERPRETER_BLOCKED, stood_still(60.0, 58.0))
    assert "no other thread could run" in finding.sentence


@pytest.mark.parametrize(
    ("cpu_s", "kind"), [(20.0, Kind.INTERPRETER_BLOCKED), (10.0, Kind.INTERPRETER_BLOCKED), (4.0, Kind.PROCESS_STOPPED)]
)
def test_what_lies_between_is_only_likely(cpu_s: float, kind: Kind) -> None:
    """A machine may be busy with others; and a process may have worked until it was stopped."""
    assert the(kind, stood_still(60.0, cpu_s)).certainty == ("certain" if cpu_s < 5 else "likely")


def test_a_question_about_topics_explains_no_standstill() -> None:
    """A member's heartbeats go on beside it. It hid a stopped process in classic groups, whose members ask for topic ids."""
    member = RecordedClassic.new(session_timeout_ms=4_000, heartbeat_interval_ms=1_000)
    member.joining()
    member.answer(JoinGroup, MemberIdGiven("given"))
    member.answer(JoinGroup, admitted())
    member.answer(SyncGroup, GroupSynced(share(0)))
    member.let_callbacks_return()
    assert isinstance(member.open(DescribeTopics).request, DescribeTopics)
    member.now += 6.0
    member.do(Tick())
    assert "session timed out" in str(member.member.cause)
    the(Kind.PROCESS_STOPPED, faults([member.section()]))


def stood_still_while_a_heartbeat_was_under_way(seconds: float, cpu_s: float) -> Recorded:
    """Its answer was there long before it was read, and the session was over by then."""
    member = Recorded.named("a", **{"request.timeout.ms": 60_000}).owning(0).stays_stable(20.0)
    while member.member.dialogue is None:
        member.advance(1.0)
    member.now += seconds
    member.cpu_s += cpu_s
    member.answer(Heartbeat, accepted(2))
    return member


def stopped_before_a_refused_heartbeat(seconds: float, **overrides: int) -> Recorded:
    """It is stopped with a heartbeat under way, which reaches the coordinator when the process goes on."""
    member = Recorded.named("a", **overrides).owning(0).stays_stable(20.0)
    while member.member.dialogue is None:
        member.advance(1.0)
    member.now += seconds
    return member


def test_a_standstill_with_a_heartbeat_under_way_that_is_then_refused_is_named() -> None:
    """It was said that the trace shows no standstill, because only accepted heartbeats counted as awaited."""
    member = stopped_before_a_refused_heartbeat(50.0, **{"request.timeout.ms": 60_000})
    member.answer(Heartbeat, UNKNOWN_MEMBER)
    finding = the(Kind.PROCESS_STOPPED, faults([member.section()]))
    assert finding.certainty == "unknown"
    assert finding.sentence == (
        "a:7 read the answer to a heartbeat 50.0 s after it was sent, while its process used 0.0 s of processor time: the "
        "process stood still or got no processor; or the answer came late, which looks the same here; its session ended "
        "meanwhile, and the coordinator fenced it. It owned orders[0] all the time."
    )


def test_a_standstill_that_no_session_is_as_short_as_explains_no_fence() -> None:
    """Two heartbeat intervals without a heartbeat end no session of a sensible group."""
    member = stopped_before_a_refused_heartbeat(6.0)
    member.answer(Heartbeat, UNKNOWN_MEMBER)
    assert Kind.PROCESS_STOPPED not in {finding.kind for finding in faults([member.section()])}


@pytest.mark.parametrize(("session_ms", "explains"), [(8_000, True), (30_000, False)])
def test_a_classic_session_is_known_so_a_shorter_standstill_explains_no_fence(session_ms: int, explains: bool) -> None:
    """Members of classic groups choose their session themselves."""
    member = RecordedClassic.new(session_timeout_ms=session_ms, heartbeat_interval_ms=1_000)
    member.stable(0)
    while member.member.dialogue is None:
        member.advance(0.5)
    member.now += 9.9
    member.answer(ClassicHeartbeat, UNKNOWN_MEMBER)
    assert (Kind.PROCESS_STOPPED in {finding.kind for finding in faults([member.section()])}) == explains


def test_a_standstill_of_the_request_timeout_is_not_blamed_on_the_network_alone() -> None:
    """Its first step after it was the timeout of the request, half a second late, so the answer was never read."""
    member = stopped_before_a_refused_heartbeat(10.5)
    member.do(Tick())
    member.advance(0.5)
    member.find_coordinator()
    member.answer(Heartbeat, UNKNOWN_MEMBER)
    finding = the(Kind.NETWORK_LOST, faults([member.section()]))
    assert finding.certainty == "unknown"
    assert finding.sentence == (
        "a:7 read no answer for 11.0 s: no broker answered it, or it stood still, which looks the same here; "
        "its session ended meanwhile, and the coordinator fenced it."
    )
    assert "SIGSTOP" in finding.advice


@pytest.mark.parametrize(
    ("cpu_s", "kind", "certainty"),
    [(45.0, Kind.INTERPRETER_BLOCKED, "likely"), (0.01, Kind.PROCESS_STOPPED, "unknown")],
)
def test_a_standstill_while_a_heartbeat_was_under_way_is_told_with_what_looks_the_same(
    cpu_s: float, kind: Kind, certainty: str
) -> None:
    """Nothing is due then but the answer, so the trace was said to show no standstill at all."""
    member = stood_still_while_a_heartbeat_was_under_way(50.0, cpu_s)
    member.advance(5.0)
    member.answer(Heartbeat, UNKNOWN_MEMBER)
    (finding,) = faults([member.section()])
    assert (finding.kind, finding.certainty) == (kind, certainty)
    assert finding.sentence.startswith(
        "a:7 read the answer to a heartbeat 50.0 s after it was sent, while its process used "
    )
    assert "; or the answer came late, which looks the same here; its session ended meanwhile" in finding.sentence
    assert "network" in finding.advice


def test_an_answer_that_took_long_is_no_fault_if_the_session_survived() -> None:
    """Brokers are slow at times, and that looks the same."""
    member = stood_still_while_a_heartbeat_was_under_way(20.0, 0.0)
    assert faults([member.stays_stable(10.0).section()]) == []


def test_a_process_whose_other_threads_wrote_notes_was_not_stopped() -> None:
    """Only the membership thread got no turn."""
    finding = the(Kind.INTERPRETER_BLOCKED, stood_still(60.0, 1.0, notes=5))
    assert finding.certainty == "likely"
    assert any("another thread noted" in line.text for line in finding.evidence)


def test_a_pause_that_the_session_survived_is_told_if_it_was_long() -> None:
    """It will not be the last."""
    finding = the(Kind.PROCESS_STOPPED, stood_still(40.0, 0.0, fenced=False))
    assert "its session survived" in finding.sentence


def test_a_machine_that_slept_is_known_by_the_time_of_day() -> None:
    """The member's own clock saw nothing of it, and its heartbeat seemed to be on time."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.slept_s += 600.0
    member.advance(5.0)
    member.answer(Heartbeat, UNKNOWN_MEMBER)
    finding = the(Kind.PROCESS_STOPPED, faults([member.section()]))
    assert "a:7 did nothing for 605 s" in finding.sentence
    assert "its own clock stood still too, so the whole machine slept" in finding.sentence
    assert finding.lasted_s > 600


def test_a_clock_that_was_set_is_no_sleep() -> None:
    """Nobody missed a heartbeat."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.slept_s += 3600.0
    assert faults([member.stays_stable(20.0).section()]) == []


def test_a_short_pause_is_not_worth_a_word() -> None:
    """Machines are busy at times."""
    assert stood_still(9.0, 0.0, fenced=False) == []


def test_a_poll_interval_that_ran_out_meanwhile_is_no_second_fault() -> None:
    """The application could not poll either."""
    member = Recorded.named("a", **{"max.poll.interval.ms": 30_000}).owning(0).polls()
    member.now += 60.0
    member.do(Tick())
    assert [finding.kind for finding in faults([member.section()])] == [Kind.PROCESS_STOPPED]
