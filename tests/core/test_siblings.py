"""Members of one group in one process: what one of them tells, and when the others send a heartbeat for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client.core import siblings
from membership_client.core.events import (
    Answered,
    ClassicHeartbeat,
    CoordinatorFound,
    Event,
    FindCoordinator,
    GroupLeft,
    Heartbeat,
    HeartbeatConfirmed,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Refused,
    SiblingChange,
    SiblingChanged,
    Subscribe,
    Tick,
    Unsubscribe,
)
from membership_client.core.machine import step
from membership_client.core.member import IN_GROUP
from membership_client.partitions import NOTHING
from membership_client.types import LeaveMode, MemberState
from tests.core.classic_play import BEAT_S, REBALANCE_IN_PROGRESS, ClassicPlay, admitted
from tests.core.play import INTERVAL_S, OTHER_BROKER, Play, accepted, in_state, orders

NEW_EPOCH, GAVE_BACK, LEFT, JOINS = SiblingChange


def changed(change: SiblingChange, epoch: int = 3) -> SiblingChanged:
    return SiblingChanged(change, epoch)


def telling(play: Play, event: Event) -> SiblingChanged | None:
    """What the step that this event makes tells siblings."""
    before = play.member
    after, effects = step(before, event, play.now)
    play.do(event)
    return siblings.announced(before, effects, after)


def answer_all(play: Play, seconds: float, epoch: int = 2) -> int:
    """Time passes, and every heartbeat is answered without news; how many were sent."""
    sent = len(play.heartbeats())
    end = play.now + seconds
    while play.now < end:
        play.advance(min(0.01, end - play.now))
        if play.member.dialogue is not None:
            play.answer(Heartbeat, accepted(epoch))
    return len(play.heartbeats()) - sent


# --- what is told ----------------------------------------------------------------------------------------------------


def test_a_join_tells_the_epoch_that_it_was_given() -> None:
    """The coordinator has made a new target for all, or will."""
    play = Play.new().joining()
    answer = Answered(play.open(Heartbeat).request_id, accepted(4, NOTHING))
    assert telling(play, answer) == changed(NEW_EPOCH, 4)


def test_a_heartbeat_without_news_tells_nothing() -> None:
    """Members at rest never wake each other."""
    play = Play.new().stable(0, 1)
    play.advance(INTERVAL_S)
    assert telling(play, Answered(play.open(Heartbeat).request_id, accepted(2))) is None


def test_an_acknowledged_revoke_is_told_when_the_coordinator_has_it() -> None:
    """Not when the heartbeat is sent: a sibling's could overtake it, and bring nothing."""
    play = Play.new().stable(0, 1).told(orders(0))
    assert play.member.call is not None
    before = play.member
    play.returns()
    assert siblings.announced(before, (), play.member) is None
    assert telling(play, Answered(play.open(Heartbeat).request_id, accepted(3))) == changed(GAVE_BACK)


def test_an_acknowledged_assignment_tells_nothing() -> None:
    """No other member can get anything for it."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.let_callbacks_return()
    assert telling(play, Answered(play.open(Heartbeat).request_id, accepted(2))) is None


def test_a_revoke_whose_first_acknowledgement_was_lost_is_told_all_the_same() -> None:
    """The full heartbeat after the failure acknowledges it."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.returns()
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert telling(play, Answered(play.open(Heartbeat).request_id, accepted(3))) == changed(GAVE_BACK)


def test_a_full_heartbeat_after_a_failure_tells_nothing() -> None:
    """When a coordinator moves, all members of the process send one: each of them would wake all others."""
    play = Play.new().stable(0, 1)
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert telling(play, Answered(play.open(Heartbeat).request_id, accepted(2))) is None


@pytest.mark.parametrize(
    ("mode", "request_type", "told"),
    [(LeaveMode.DEFAULT, LeaveGroup, changed(LEFT, 0)), (LeaveMode.TEMPORARY, Heartbeat, None)],
)
def test_a_leave_is_told_once_it_is_confirmed(
    mode: LeaveMode, request_type: type[LeaveGroup | Heartbeat], told: SiblingChanged | None
) -> None:
    """A temporary one is not: the partitions wait for the member."""
    play = Play.new(group_instance_id="i" if told is None else None).stable(0)
    before = play.member
    play.do(Unsubscribe(mode=mode))
    play.let_callbacks_return()
    assert siblings.announced(before, (), play.member) is None
    assert telling(play, Answered(play.open(request_type).request_id, GroupLeft())) == told


def test_a_classic_join_is_told_when_it_is_sent() -> None:
    """It is answered only when all siblings have joined, too. The one without an id only asks for an id."""
    play = ClassicPlay.new()
    play.do(Subscribe(frozenset({"orders"})))
    assert telling(play, Answered(play.open(FindCoordinator).request_id, CoordinatorFound(OTHER_BROKER))) is None
    assert telling(play, Answered(play.open(JoinGroup).request_id, MemberIdGiven("given"))) == changed(JOINS, 0)
    assert telling(play, Answered(play.open(JoinGroup).request_id, admitted(3))) is None


def test_a_join_that_is_sent_again_is_not_told_again() -> None:
    """A member that waits for room in a full group sends one each second: its siblings sent fifteen heartbeats per interval."""
    play = ClassicPlay.new(retry_when_full_s=1.0)
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    assert telling(play, Answered(play.open(JoinGroup).request_id, Refused(81))) is None
    play.now += 1.0
    assert telling(play, Tick()) is None
    assert play.join_request().member_id == "given"


def test_siblings_share_a_group_and_the_address_of_its_coordinator() -> None:
    """However they are bootstrapped: two clusters may have a group of that name, but not at one address."""
    one, same = Play.new().stable(0).member, Play.new(**{"bootstrap.servers": "other:1"}).stable(1).member
    assert siblings.are_siblings(one, same)
    elsewhere = Play.new()
    elsewhere.do(Subscribe(frozenset({"orders"})))
    assert not siblings.are_siblings(one, elsewhere.member)
    assert not siblings.are_siblings(elsewhere.member, elsewhere.member)
    assert not siblings.are_siblings(one, elsewhere.find_coordinator(OTHER_BROKER).member)
    assert not siblings.are_siblings(one, Play.new(**{"group.id": "another"}).stable(0).member)


# --- what follows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [NEW_EPOCH, GAVE_BACK, LEFT])
def test_a_heartbeat_is_sent_at_once(change: SiblingChange) -> None:
    """And the next regular one an interval after it."""
    play = Play.new().stable(0)
    play.advance(1.0)
    play.do(changed(change))
    play.answer(Heartbeat, accepted(3))
    play.advance(INTERVAL_S - 0.01)
    assert len(play.heartbeats()) == 1
    play.advance(0.01)
    assert len(play.heartbeats()) == 2


def test_an_epoch_makes_one_heartbeat_however_many_siblings_tell_it() -> None:
    """The 99 siblings that hear of a target tell all others: each of these would have sent 99 heartbeats."""
    play = Play.new().stable(0)
    for _ in range(99):
        play.do(changed(NEW_EPOCH))
        if play.member.dialogue is not None:
            play.answer(Heartbeat, accepted(2))  # It has still to give something back, so its epoch stays.
    assert len(play.heartbeats()) == 1


def test_an_epoch_that_the_member_has_makes_no_heartbeat() -> None:
    """It knows the target already."""
    play = Play.new().stable(0, epoch=3)
    assert play.do(changed(NEW_EPOCH)) == []


def test_an_answer_under_way_that_brings_the_epoch_is_enough() -> None:
    """In a storm of joins half of the heartbeats would be needless."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.do(changed(NEW_EPOCH))
    assert play.answer(Heartbeat, accepted(3)) == []
    assert play.member.dialogue is None


@pytest.mark.parametrize(("change", "epoch"), [(NEW_EPOCH, 2), (GAVE_BACK, 3)])
def test_an_answer_that_may_be_older_than_the_change_is_not_enough(change: SiblingChange, epoch: int) -> None:
    """It was on its way when the sibling changed: another heartbeat follows."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.do(changed(change))
    play.answer(Heartbeat, accepted(epoch))
    assert len(play.heartbeats()) == 2


def test_a_change_while_joining_is_not_forgotten() -> None:
    """The join may have been answered before the change: the bug would be a member that waits for an interval after it."""
    play = Play.new().joining()
    play.do(changed(NEW_EPOCH, 7))
    play.answer(Heartbeat, accepted(6, orders(0)))
    assert len(play.heartbeats()) == 2


def test_after_a_leave_the_coordinator_is_asked_again_until_it_has_a_new_target() -> None:
    """It puts the next target off for a second after the last one: without a second heartbeat that would be the interval."""
    play = Play.new().stable(0)
    play.advance(1.0)
    play.do(changed(LEFT))
    play.answer(Heartbeat, accepted(2))
    assert answer_all(play, 1.0) == 4
    play.do(changed(LEFT))
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    play.name_topics().let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    assert answer_all(play, 4.0, epoch=3) == 0


def test_asking_again_ends() -> None:
    """After half an interval the regular heartbeat is soon enough."""
    play = Play.new().stable(0)
    play.do(changed(LEFT))
    play.answer(Heartbeat, accepted(2))
    assert answer_all(play, INTERVAL_S / 2) == 5
    assert answer_all(play, INTERVAL_S / 4) == 0


def test_a_member_is_never_driven_beyond_the_limit() -> None:
    """Siblings that come and go all the time: some heartbeats at once, and then one each tenth of the interval."""
    play = Play.new().stable(0)
    for _ in range(500):
        play.do(changed(GAVE_BACK))
        while play.member.dialogue is not None:
            play.answer(Heartbeat, accepted(2))
        play.advance(INTERVAL_S / 500)
    most = siblings.MOST_AT_ONCE + siblings.MOST_PER_INTERVAL
    assert most - 1 <= len(play.heartbeats()) <= most + 1


def test_the_limit_delays_and_forgets_nothing() -> None:
    """What was told beyond it brings a heartbeat later."""
    play = Play.new().stable(0)
    for _ in range(siblings.MOST_AT_ONCE + 1):
        play.do(changed(GAVE_BACK))
        if play.member.dialogue is not None:
            play.answer(Heartbeat, accepted(2))
    assert len(play.heartbeats()) == siblings.MOST_AT_ONCE
    play.advance(INTERVAL_S / siblings.MOST_PER_INTERVAL)
    assert len(play.heartbeats()) == siblings.MOST_AT_ONCE + 1


def test_a_pause_that_a_broker_asks_for_comes_first() -> None:
    """A throttled member keeps quiet, whatever its siblings tell."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2), throttle_s=2.0)
    assert play.do(changed(GAVE_BACK)) == []
    assert len(play.advance(2.0)) == 1


@pytest.mark.parametrize("state", [state for state in MemberState if state not in IN_GROUP])
@pytest.mark.parametrize("change", SiblingChange)
def test_a_member_outside_of_its_group_sends_nothing(state: MemberState, change: SiblingChange) -> None:
    """Nor later: what siblings told before it joined is known to the coordinator that answers its join."""
    play = in_state(state)
    play.do(changed(change))
    assert play.member.prompt.due is None


def test_what_siblings_told_ends_with_the_membership() -> None:
    """A fence makes the member join, and the answer says all."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.do(changed(GAVE_BACK))
    play.answer(Heartbeat, Refused(25))
    play.let_callbacks_return()
    assert play.heartbeat().epoch == 0
    assert play.member.prompt.due is None


# --- the classic protocol --------------------------------------------------------------------------------------------


def classic_answers(play: ClassicPlay, seconds: float) -> int:
    """Time passes, and every heartbeat is confirmed; how many were sent."""
    before = _classic_heartbeats(play)
    end = play.now + seconds
    while play.now < end:
        play.advance(min(0.01, end - play.now))
        if play.member.dialogue is not None:
            play.answer(ClassicHeartbeat, HeartbeatConfirmed())
    return _classic_heartbeats(play) - before


def _classic_heartbeats(play: ClassicPlay) -> int:
    return sum(isinstance(send.request, ClassicHeartbeat) for send in play.sends())


def test_a_classic_member_hears_of_a_siblings_join_a_moment_later() -> None:
    """The join may need a new connection, so the first heartbeat waits a little, and is repeated if nothing is known yet."""
    play = ClassicPlay.new().stable(0)
    assert play.do(changed(JOINS)) == []
    play.advance(BEAT_S / 50)
    play.answer(ClassicHeartbeat, HeartbeatConfirmed())
    play.advance(BEAT_S / 25)
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    play.let_callbacks_return()
    assert play.join_request().member_id == "given"
    assert play.member.prompt.due is None


def test_a_join_that_never_arrives_costs_a_few_heartbeats() -> None:
    """The sibling may have been killed."""
    play = ClassicPlay.new().stable(0)
    play.do(changed(JOINS))
    assert classic_answers(play, BEAT_S) <= 7


@pytest.mark.parametrize("make", [ClassicPlay.new, ClassicPlay.cooperative])
def test_a_classic_member_that_joins_itself_need_not_ask(make: Callable[[], ClassicPlay]) -> None:
    """In a storm of joins, all the answers come together."""
    play = make().stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    assert not siblings.concerns(play.member, changed(JOINS))
    play.let_callbacks_return()
    assert isinstance(play.open(JoinGroup).request, JoinGroup)
    assert not siblings.concerns(play.member, changed(JOINS))


def test_a_classic_member_that_waits_to_join_again_need_not_ask() -> None:
    """Its join was refused for the moment: no request is under way, and the next one brings all."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, Refused(15))
    assert not siblings.concerns(play.member, changed(JOINS))


def test_a_classic_member_that_follows_up_need_not_ask() -> None:
    """It has given partitions back, and joins once more so that others get them."""
    play = ClassicPlay.cooperative().stable(0, 1)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    play.let_in(0, generation=2)
    play.let_callbacks_return()
    assert (play.member.state, play.join_request().generation) == (MemberState.ACK, 2)
    assert not siblings.concerns(play.member, changed(JOINS))


def test_a_join_during_a_classic_heartbeat_is_not_forgotten() -> None:
    """The answer under way may be older than the join."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.do(changed(JOINS))
    play.answer(ClassicHeartbeat, HeartbeatConfirmed())
    assert classic_answers(play, BEAT_S / 10) >= 1


def test_a_classic_member_hears_of_a_leave_at_once() -> None:
    """The group rebalances from the moment of the leave's answer."""
    play = ClassicPlay.new().stable(0)
    play.do(changed(LEFT))
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    play.let_callbacks_return()
    assert play.join_request().member_id == "given"
