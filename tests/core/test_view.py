"""What a member looks like from outside: who is live, who is ready, and what its snapshot shows."""

from __future__ import annotations

import pytest

from membership_client.core.events import CallbackKind, Close, Heartbeat, Refused
from membership_client.core.view import health_of, share_of, snapshot_of
from membership_client.errors import ConnectionProblem
from membership_client.partitions import Partitions
from membership_client.types import GroupProtocol, MemberState, Share, TopicPartition
from tests.core.classic_play import ClassicPlay
from tests.core.play import BILLS, BROKER, INTERVAL_S, ORDERS, Play, accepted, in_state, orders

S = MemberState
READY = {S.RECONCILING, S.ACK, S.STABLE}


@pytest.mark.parametrize("state", MemberState)
def test_a_member_is_ready_while_the_group_counts_on_it_and_live_until_it_ends_for_good(state: MemberState) -> None:
    """An orchestrator restarts what is not live: a fence or a leave is no reason for that, a fatal error is."""
    play = in_state(state)
    health = health_of(play.member, play.now)
    assert (health.live, health.ready) == (state is not S.FATAL, state in READY)


def test_a_classic_member_stays_ready_while_its_group_rebalances() -> None:
    """It keeps its generation in JOINING; taken out of service at each rebalance, a whole group would be unready at once."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    assert play.member.state is S.JOINING
    assert health_of(play.member, play.now).ready


def test_a_closed_member_is_neither_live_nor_ready() -> None:
    """Also if it has never joined."""
    play = Play.new()
    play.do(Close(timeout_s=1.0))
    health = health_of(play.member, play.now)
    assert (health.live, health.ready, health.why) == (False, False, "closed")


def test_three_intervals_without_an_answer_make_a_member_unready_and_not_one_moment_sooner() -> None:
    """By then the coordinator may have given its partitions to others."""
    play = Play.new().stable(0)
    assert health_of(play.member, play.now + 3 * INTERVAL_S).ready
    late = health_of(play.member, play.now + 3 * INTERVAL_S + 0.5)
    assert (late.live, late.ready) == (True, False)
    assert "15.5 s" in late.why


@pytest.mark.parametrize("state", [S.JOINING, S.STABLE, S.FATAL])
def test_health_says_what_the_trouble_is(state: MemberState) -> None:
    """The text of a probe names the problem, so that a look into the log is not needed."""
    play = in_state(state)
    if state is not S.FATAL:
        play.advance(INTERVAL_S)
        play.fail(Heartbeat)
    why = {S.FATAL: "GROUP_AUTHORIZATION_FAILED"}.get(state, "it broke")
    assert why in health_of(play.member, play.now).why


def test_a_snapshot_shows_who_where_and_what() -> None:
    """All of it from one moment."""
    play = Play.new(group_instance_id="i", group_protocol="consumer").stable(0, 1, epoch=7)
    shown = snapshot_of(play.member, play.now + 2.0)
    assert (shown.state, shown.group_id, shown.member_id, shown.instance_id) == (S.STABLE, "g", "me", "i")
    assert (shown.epoch, shown.coordinator, shown.protocol) == (7, BROKER, GroupProtocol.CONSUMER)
    assert (shown.heartbeat_interval_s, shown.heartbeat_age_s) == (INTERVAL_S, 2.0)
    partitions = {TopicPartition("orders", 0), TopicPartition("orders", 1)}
    assert (shown.owned, shown.target, shown.share) == (partitions, partitions, Share.ASSIGNED)
    assert (shown.error, shown.unresolved) == (None, frozenset())
    assert shown.cause is play.member.cause is not None


def test_a_snapshot_tells_the_target_apart_from_what_is_owned_and_names_what_has_no_name_yet() -> None:
    """What is owned changes when callbacks have returned; a topic without a name is waited for."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0, 1], BILLS: [0]})))
    shown = snapshot_of(play.member, play.now)
    assert play.callbacks()[-1].kind is CallbackKind.ASSIGNED
    assert shown.owned == {TopicPartition("orders", 0)}
    assert shown.target == {TopicPartition("orders", 0), TopicPartition("orders", 1)}
    assert shown.unresolved == {BILLS}


def test_before_the_first_answer_nothing_is_known_of_heartbeats_and_protocol() -> None:
    """A made-up interval or age would look like a healthy member."""
    play = Play.new().joining()
    shown = snapshot_of(play.member, play.now)
    assert (shown.heartbeat_interval_s, shown.heartbeat_age_s, shown.protocol) == (None, None, None)


def test_a_heartbeat_is_never_younger_than_nothing() -> None:
    """The reader's clock may be read before the member's last step."""
    play = Play.new().stable(0)
    assert snapshot_of(play.member, play.now - 1.0).heartbeat_age_s == 0.0


def test_a_snapshot_has_the_trouble_as_the_error_that_would_be_raised() -> None:
    """With the identity of the member."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    assert isinstance(snapshot_of(play.member, play.now).error, ConnectionProblem)


def test_a_share_is_pending_until_it_is_known_to_be_empty() -> None:
    """A standby is not the same as a member whose partitions are still to come."""
    assert share_of(Play.new().member) is Share.NONE
    assert share_of(Play.new().joining().member) is Share.PENDING
    assert share_of(ClassicPlay.new().stable().member) is Share.NONE
    assert share_of(Play.new().stable(0).member) is Share.ASSIGNED
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert share_of(play.member) is Share.ASSIGNED
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    assert share_of(play.member) is Share.PENDING


def test_a_fenced_member_has_no_target() -> None:
    """The group wants nothing of it any more, also before the lost callback has returned."""
    play = in_state(S.FENCED)
    assert snapshot_of(play.member, play.now).target == frozenset()
