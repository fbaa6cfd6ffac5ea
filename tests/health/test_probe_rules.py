"""The health of a member, judged by values alone."""

from __future__ import annotations

import math

import pytest

from membership_client.core.view import health_of, snapshot_of
from membership_client.health.probe_rules import (
    LATE_S,
    READY_FOR_S,
    MemberFacts,
    MemberReport,
    ProbeMemory,
    judge_member,
)
from membership_client.types import MemberState
from tests.core.play import Play, in_state

S = MemberState
READY = {S.RECONCILING, S.ACK, S.STABLE}
RETURNING = {S.JOINING, S.FENCED}


def facts_of(play: Play, at: float, due_at: float = math.inf) -> MemberFacts:
    health, snapshot = health_of(play.member, at), snapshot_of(play.member, at)
    return MemberFacts(snapshot=snapshot, health=health, started=True, due_at=due_at)


def told(play: Play, memory: ProbeMemory, at: float | None = None, due_at: float = math.inf) -> MemberReport:
    now = play.now if at is None else at
    return judge_member(facts_of(play, now, due_at), memory, now)[0]


@pytest.mark.parametrize("state", MemberState)
def test_a_member_that_was_ready_stays_so_while_it_joins_again(state: MemberState) -> None:
    """A fence and a rejoin take seconds. Rolling updates and load balancers must not see each of them."""
    play = in_state(state)
    lately = ProbeMemory(ready_at=play.now - READY_FOR_S)
    assert told(play, lately).ready is (state in READY | RETURNING)
    assert told(play, ProbeMemory()).ready is (state in READY)
    assert told(play, ProbeMemory(ready_at=play.now - READY_FOR_S - 1)).ready is (state in READY)


@pytest.mark.parametrize("state", MemberState)
def test_a_restart_is_wanted_of_what_it_can_mend(state: MemberState) -> None:
    """It mends a fatal error and an application that does not poll; it does not mend a fence, nor brokers that are away."""
    report = told(in_state(state), ProbeMemory())
    assert report.live is (state not in {S.FATAL, S.STALE})
    assert report.state == state.value


def test_ready_is_remembered_by_looking() -> None:
    """Each report of a ready member renews the time; the first report of a member that is not ready begins the wait."""
    play, stable = in_state(S.FENCED), in_state(S.STABLE)
    memory = judge_member(facts_of(stable, stable.now), ProbeMemory(), 100.0)[1]
    assert memory.ready_at == 100.0
    assert judge_member(facts_of(play, play.now), memory, 130.0)[1].ready_at == 100.0


def test_a_membership_thread_that_is_stuck() -> None:
    """The thread is later than a busy machine explains; the report says by how much."""
    play = in_state(S.STABLE)
    assert told(play, ProbeMemory(), due_at=play.now - LATE_S).live
    late = told(play, ProbeMemory(), due_at=play.now - LATE_S - 1)
    assert (late.live, late.ready, late.why) == (False, False, "the membership thread has been stuck for 6 s")


def test_a_process_that_was_stopped_is_forgiven() -> None:
    """After SIGCONT the thread is late by the time of the stop, and takes its turn soon."""
    play = in_state(S.STABLE)
    memory = ProbeMemory(awake_at=play.now - 1)
    assert told(play, memory, due_at=play.now - 60).live
    assert not told(play, memory, at=play.now + LATE_S, due_at=play.now - 60).live
