"""NETWORK_LOST and BROKER_RESTARTED."""

from __future__ import annotations

from membership_client.core.events import FailureKind, FindCoordinator, Heartbeat, Refused, Subscribe
from membership_client.debugger.findings.finding import Kind
from membership_client.types import Node
from tests.core.play import BROKER, OTHER_BROKER, accepted, orders
from tests.diagnose.traces import Recorded, faults, kinds, the


def loses_broker(name: str, *, finds: Node = BROKER, for_s: float = 8.0, now: float = 1000.0) -> Recorded:
    """Disconnected, unreachable for a while, then found again, there or elsewhere."""
    member = Recorded.named(name, now=now).owning(0).stays_stable(10.0)
    lose_broker(member, finds=finds, for_s=for_s)
    return member


def lose_broker(member: Recorded, *, finds: Node = BROKER, for_s: float) -> None:
    member.advance(5.0)
    if member.member.dialogue is None:
        member.advance(5.0)
    member.fail(Heartbeat)
    ends_at = member.now + for_s
    while member.now < ends_at:
        member.advance(1.5)
        if member.member.lookup is not None:
            member.fail(FindCoordinator, FailureKind.UNREACHABLE)
    member.advance(1.5)
    member.find_coordinator(finds)


def joins_while_the_coordinator_loads(name: str, **overrides: int) -> Recorded:
    """COORDINATOR_LOAD_IN_PROGRESS, and then in the group with a partition."""
    member = Recorded.named(name, **overrides)
    member.do(Subscribe(frozenset({"orders"})))
    member.find_coordinator()
    member.answer(Heartbeat, Refused(14))
    member.advance(1.5)
    if member.member.lookup is not None:
        member.find_coordinator()
    member.answer(Heartbeat, accepted(2, orders(0)))
    member.name_topics()
    member.let_callbacks_return()
    member.answer(Heartbeat, accepted(2))
    return member


def test_a_member_that_nobody_answers_lost_the_network() -> None:
    """It tried all the time, until its session was over."""
    member = loses_broker("a", for_s=50.0)
    member.answer(Heartbeat, Refused(25))
    finding = the(Kind.NETWORK_LOST, faults([member.section()]))
    assert finding.members == ("a:7",)
    assert "the coordinator fenced it" in finding.sentence
    assert "disconnected" in finding.evidence[0].text


def test_a_timeout_counts_as_no_answer() -> None:
    """The core notices it itself, without an event from outside."""
    member = Recorded.named("a").owning(0)
    member.advance(5.0 + 12.0)
    assert member.member.problem is not None
    member.find_coordinator()
    member.advance(10.0 + 2.0)
    member.find_coordinator()
    member.answer(Heartbeat, Refused(25))
    finding = the(Kind.NETWORK_LOST, faults([member.section()]))
    assert "did not answer within 10 s" in finding.evidence[0].text


def test_an_outage_begins_with_the_request_that_got_no_answer() -> None:
    """Packets that vanish show only when the request times out, 10 s later: those were missing from what was told."""
    member = Recorded.named("a").owning(0)
    member.advance(5.0)
    sent_at = member.now
    assert member.member.dialogue is not None
    for _ in range(5):
        member.advance(12.0)
        member.find_coordinator()
    member.answer(Heartbeat, Refused(25))
    finding = the(Kind.NETWORK_LOST, faults([member.section()]))
    assert abs(finding.lasted_s - (member.now - sent_at)) < 0.01
    assert f"no broker answered it for {finding.lasted_s:.1f} s" in finding.sentence


def test_a_hiccup_is_not_worth_a_word() -> None:
    """Connections break, and are made again."""
    member = loses_broker("a", for_s=3.0)
    member.answer(Heartbeat, accepted(2))
    assert faults([member.section()]) == []


def test_a_broker_that_several_lose_at_once_was_restarted() -> None:
    """No member is blamed for it."""
    members = [loses_broker(name, for_s=30.0, now=1000.0 + number) for number, name in enumerate("abc")]
    for member in members:
        member.answer(Heartbeat, accepted(2))
    finding = the(
        Kind.BROKER_RESTARTED, faults([member.section(f"{member.member.member_id}.jsonl") for member in members])
    )
    assert finding.members == ("a:7", "b:7", "c:7")
    assert finding.certainty == "likely"


def test_a_coordinator_that_moved_is_certain() -> None:
    """One member is enough to know it."""
    member = loses_broker("a", finds=OTHER_BROKER)
    member.answer(Heartbeat, accepted(2))
    (finding,) = faults([member.section()])
    assert finding.certainty == "certain"
    assert "the coordinator is other:9092 since then" in finding.sentence


def test_a_broker_that_says_it_is_not_the_coordinator_is_believed() -> None:
    """NOT_COORDINATOR is no trouble of the network."""
    member = Recorded.named("a").owning(0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(16))
    member.advance(1.5)
    member.find_coordinator()
    member.answer(Heartbeat, accepted(2))
    assert kinds(faults([member.section()])) == {Kind.BROKER_RESTARTED}


def test_a_broker_that_answers_others_was_not_restarted() -> None:
    """Two lost it, and a third did not: that is the network."""
    members = [loses_broker(name, for_s=30.0) for name in "ab"]
    for member in members:
        member.answer(Heartbeat, accepted(2))
    spared = Recorded.named("c").owning(1).stays_stable(50.0)
    sections = [member.section(f"{member.member.member_id}.jsonl") for member in (*members, spared)]
    assert kinds(faults(sections)) - {Kind.TWO_OWNERS} == {Kind.NETWORK_LOST}


def test_a_coordinator_that_loads_before_the_first_join_was_not_lost() -> None:
    """The coordinator of a new cluster does so. It was told as a restart, with certainty."""
    member = joins_while_the_coordinator_loads("a")
    assert faults([member.section()]) == []


def test_a_lost_network_is_told_although_the_coordinator_loaded_just_before() -> None:
    """The member had two outages, with answers between them. They were told as one restart, which hid the second."""
    member = joins_while_the_coordinator_loads("a", **{"request.timeout.ms": 30_000})
    lose_broker(member, for_s=50.0)
    member.answer(Heartbeat, Refused(25))
    assert kinds(faults([member.section()])) == {Kind.NETWORK_LOST}


def test_a_lost_network_is_told_although_the_coordinator_moved_just_before() -> None:
    """The same for a member that was in the group: the restart, and then what the network did."""
    member = Recorded.named("a", **{"request.timeout.ms": 30_000}).owning(0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(16))
    member.advance(1.5)
    member.find_coordinator()
    member.answer(Heartbeat, accepted(2))
    lose_broker(member, for_s=50.0)
    member.answer(Heartbeat, Refused(25))
    assert kinds(faults([member.section()])) == {Kind.BROKER_RESTARTED, Kind.NETWORK_LOST}


def test_a_coordinator_that_answers_others_was_not_lost_whatever_it_says_in_the_end() -> None:
    """The network was lost for most of the time, and a moved coordinator at its end was taken for the cause of it all."""
    member = loses_broker("a", for_s=50.0)
    member.answer(Heartbeat, Refused(16))
    member.advance(1.5)
    member.find_coordinator()
    member.answer(Heartbeat, Refused(25))
    spared = Recorded.named("b").owning(1).stays_stable(80.0)
    assert kinds(faults([member.section(), spared.section("b.jsonl")])) == {Kind.NETWORK_LOST}


def test_a_member_that_never_finds_a_broker_is_told() -> None:
    """A wrong address, or a network that was never there."""
    member = Recorded.named("a")
    member.do(Subscribe(frozenset({"orders"})))
    for _ in range(20):
        member.fail(FindCoordinator, FailureKind.UNREACHABLE)
        member.advance(1.5)
    finding = the(Kind.NETWORK_LOST, faults([member.section()]))
    assert "the trace ends without an answer" in finding.sentence
