"""How long an answer may take, what becomes of a request without one, and how long the next one waits."""

from __future__ import annotations

from typing import Any

import pytest

from membership_client.core.backoff import FRESH, Backoff, _jitter
from membership_client.core.events import (
    CallbackKind,
    ClassicHeartbeat,
    Close,
    CoordinatorDoubted,
    DescribeTopics,
    Disconnect,
    FailureKind,
    FindCoordinator,
    GroupSynced,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Rebalance,
    Refused,
    Request,
    Subscribe,
    SyncGroup,
    Tick,
    TopicsDescribed,
)
from membership_client.core.machine import TIME_OUT
from membership_client.core.member import InFlight, Member
from membership_client.core.requests import JOIN_PATIENCE_S, SLOTS, Slot
from membership_client.errors import Problem, ProblemKind
from membership_client.subscriptions import TopicLayout
from membership_client.types import MemberState
from membership_client.values import replace
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, share
from tests.core.play import BROKER, INTERVAL_S, Play, accepted, config, in_state, orders

S = MemberState
BEAT = ClassicHeartbeat(group_id="g", generation=1, member_id="me", instance_id=None)


@pytest.mark.parametrize("slot", SLOTS)
def test_a_request_without_an_answer_times_out_in_each_slot(slot: Slot) -> None:
    """One that was left out would be waited for until the process ends."""
    member = replace(Play.new(request_timeout_ms=7_000).member, state=S.STABLE)
    flight = InFlight(request_id=1, request=BEAT, to=BROKER, sent_at=1000.0)
    occupied: dict[str, Any] = {slot: flight}
    waiting = replace(member, **occupied)
    assert TIME_OUT.due(waiting) == 1007.0
    after, effects = TIME_OUT.act(waiting, 1007.0)
    assert getattr(after, slot) is None
    assert effects == (Disconnect(BROKER),)


def test_the_oldest_request_times_out_first_and_takes_those_of_its_connection_along() -> None:
    """Requests to other brokers go on."""
    member = replace(Play.new(request_timeout_ms=7_000).member, state=S.STABLE)
    old, young = (InFlight(request_id=n, request=BEAT, to=BROKER, sent_at=1000.0 + n) for n in (1, 2))
    other = InFlight(request_id=3, request=FindCoordinator(group_id="g"), to=None, sent_at=1003.0)
    waiting = replace(member, naming=young, dialogue=old, lookup=other)
    assert TIME_OUT.due(waiting) == 1008.0
    after, _ = TIME_OUT.act(waiting, 1008.0)
    assert (after.naming, after.dialogue, after.lookup) == (None, None, other)


@pytest.mark.parametrize("poll_s", [6, 60])
def test_only_what_waits_for_other_members_may_take_longer(poll_s: int) -> None:
    """A join is held back for as long as the group waits for its slowest member; a heartbeat never is."""
    play = ClassicPlay.new(request_timeout_ms=30_000, max_poll_interval_ms=poll_s * 1000, session_timeout_ms=6_000)
    play.joining()
    sent_at, join = play.now, play.member.dialogue
    assert join is not None
    assert TIME_OUT.due(play.member) == sent_at + max(30.0, poll_s + JOIN_PATIENCE_S)
    beating = replace(play.member, dialogue=replace(join, request=BEAT))
    assert TIME_OUT.due(beating) == sent_at + 30.0


def test_a_search_without_an_answer_is_made_again() -> None:
    """The bootstrap server that was asked may be gone, and others know the coordinator too."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    effects = play.advance(play.member.request_timeout_s)
    assert Disconnect(None) in effects
    assert play.member.problem is not None
    assert "None of the bootstrap servers (b:9092) answered within 10 s." in play.member.problem.detail
    play.advance(1.0)
    assert play.open(FindCoordinator) is not None


def test_waits_differ_from_member_to_member_by_a_fifth_to_either_side() -> None:
    """Members that failed together must not come back together."""
    waits = [FRESH.failed(0.0, seed=f"m{n}", config=config(retry_backoff_ms=1000)).not_before for n in range(200)]
    assert 0.8 <= min(waits) < 0.85
    assert 1.15 < max(waits) <= 1.2


def test_waits_double_up_to_the_longest() -> None:
    """And a longer one that a caller allows counts instead."""
    slow = config(retry_backoff_ms=100, retry_backoff_max_ms=1000)
    for failures, wait_s in [(0, 0.1), (1, 0.2), (3, 0.8), (4, 1.0), (60, 1.0)]:
        pace = Backoff(failures).failed(50.0, seed="m", config=slow)
        assert pace.failures == failures + 1
        assert 0.8 * wait_s <= pace.not_before - 50.0 <= 1.2 * wait_s
    assert Backoff(60).failed(0.0, seed="m", config=slow, cap_s=5.0).not_before >= 4.0


def test_a_pause_that_was_asked_for_does_not_shorten_another() -> None:
    """The later of the two counts, and failures stay counted."""
    assert Backoff(3, 10.0).wait_until(5.0) == Backoff(3, 10.0)
    assert Backoff(3, 10.0).wait_until(15.0) == Backoff(3, 15.0)


# --- classic groups --------------------------------------------------------------------------------------------------


@pytest.fixture
def kept() -> ClassicPlay:
    """It owns two partitions, and its join is under way."""
    return ClassicPlay.cooperative(session_timeout_ms=60_000).stable(0, 1).rebalanced()


def beats(play: ClassicPlay) -> list[Request]:
    return [send.request for send in play.sends() if isinstance(send.request, ClassicHeartbeat)]


def test_one_heartbeat_at_a_time_goes_out_beside_a_join(kept: ClassicPlay) -> None:
    """A coordinator that answers slowly is not asked the same again meanwhile."""
    before = len(beats(kept))
    kept.advance(4 * BEAT_S)
    assert len(beats(kept)) == before + 1


def test_no_heartbeat_goes_out_beside_a_join_while_the_coordinator_is_not_known(kept: ClassicPlay) -> None:
    """There is no coordinator to send it to."""
    before = len(beats(kept))
    kept.do(CoordinatorDoubted(BROKER))
    kept.advance(2 * BEAT_S)
    assert len(beats(kept)) == before
    kept.find_coordinator()
    assert len(beats(kept)) == before + 1


def test_a_group_that_was_calm_a_moment_ago_has_passed_over_no_member() -> None:
    """Each confirmed heartbeat counts, not only the last plan: a member that was stable for long would lose everything."""
    play = ClassicPlay.cooperative(group_instance_id="i").stable(0, 1, epoch=5)
    play.stays(2 * play.member.poll_interval_s)
    play.rebalanced()
    play.answer(JoinGroup, admitted(7, strategy="cooperative-sticky"))
    assert play.callbacks() == []
    assert play.sync_request().generation == 7


def test_who_was_passed_over_in_its_first_generation_has_lost_what_it_owned() -> None:
    """Generation 1 is one like others."""
    play = ClassicPlay.cooperative(group_instance_id="i").stable(0, epoch=1).rebalanced()
    play.waits(play.member.poll_interval_s)
    play.answer(JoinGroup, admitted(3, strategy="cooperative-sticky"))
    assert [call.kind for call in play.callbacks()] == [CallbackKind.LOST]


def test_the_session_of_a_member_without_partitions_ends_as_well() -> None:
    """It would wait for ever for a share from a group that does not know it."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable()
    play.advance(20.0)
    assert (play.member.state, play.member.epoch) == (S.JOINING, 0)


def test_a_first_join_may_be_known_to_the_coordinator_only_if_it_has_an_id() -> None:
    """Without one a leave request could not say whom it is from."""
    play = ClassicPlay.new()
    assert not play.joining().member.enrolled
    play.answer(JoinGroup, MemberIdGiven("given"))
    assert play.member.enrolled
    assert ClassicPlay.new(group_instance_id="i").joining().member.enrolled


# --- closing ---------------------------------------------------------------------------------------------------------


def test_the_time_of_a_callback_that_was_granted_its_own_does_not_count() -> None:
    """The coordinator is still to be told, however long the callback took."""
    play = Play.new().stable(0)
    began = play.now
    play.do(Close(timeout_s=10.0, callback_timeout_s=60.0))
    play.advance(3.0)
    play.returns()
    assert play.member.departure is not None
    assert play.member.departure.give_up_at == began + 13.0


def test_of_a_callback_that_ran_before_the_close_only_the_rest_does_not_count() -> None:
    """The close waited for that part alone."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.advance(2.0)
    closed = play.now
    play.do(Close(timeout_s=10.0, callback_timeout_s=60.0))
    play.advance(3.0)
    play.returns()
    assert play.member.departure is not None
    assert play.member.departure.give_up_at == closed + 13.0


def test_without_a_time_of_its_own_a_callback_counts() -> None:
    """The close takes no longer than was asked for."""
    play = Play.new().stable(0)
    began = play.now
    play.do(Close(timeout_s=10.0))
    play.advance(3.0)
    play.returns()
    assert play.member.departure is not None
    assert play.member.departure.give_up_at == began + 10.0


def test_a_failed_callback_of_a_close_does_not_begin_another_leave() -> None:
    """With `callback_errors=leave` it would end as FATAL, and close() would wait for a Stop that never comes."""
    play = Play.new(callback_errors="leave").stable(0)
    play.do(Close(timeout_s=10.0))
    play.returns("ValueError")
    departure = play.member.departure
    assert departure is not None
    assert (departure.closes, departure.clean) == (True, False)


def test_a_member_that_ended_sends_nothing_while_its_lost_callback_runs() -> None:
    """It has an epoch and partitions until then, but no membership."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(30))
    sent = len(play.sends())
    play.advance(60.0)
    assert (play.member.state, play.member.call is not None) == (S.FATAL, True)
    assert len(play.sends()) == sent


def test_callbacks_that_succeed_again_are_tried_again_at_once() -> None:
    """Only failures in a row make the next attempt wait."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    play.returns("ValueError")
    play.advance(2.0)
    play.returns()
    assert play.member.call_backoff == FRESH


def test_a_failed_callback_stays_the_problem_when_heartbeats_are_accepted() -> None:
    """The coordinator knows nothing of callbacks."""
    play = Play.new(callback_errors="continue").joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    play.returns("ValueError")
    play.answer(Heartbeat, accepted(2))
    problem = play.member.problem
    assert problem is not None
    assert (problem.detail, problem.epoch) == ("The assigned callback raised ValueError.", 2)


def test_names_of_topics_that_are_neither_owned_nor_wanted_are_forgotten() -> None:
    """A member that lives for years sees thousands of topics."""
    play = Play.new().stable(0).told(orders())
    assert dict(play.member.names) != {}
    play.returns()
    play.answer(Heartbeat, accepted(3, orders()))
    play.told(orders(1), epoch=4)
    assert set(play.member.names.values()) == {"orders"}


@pytest.mark.parametrize("failure", list(FailureKind))
def test_a_lookup_that_fails_frees_its_slot(failure: FailureKind) -> None:
    """In whatever way it failed; where that can be mended by repeating, the next one follows."""
    play = in_state(S.UNSUBSCRIBED)
    play.do(Subscribe(frozenset({"orders"})))
    play.fail(FindCoordinator, failure)
    assert play.member.lookup is None
    play.advance(2.0)
    play.do(Tick())
    assert (play.member.lookup is None) == (play.member.state is S.FATAL)


# --- at the edges ----------------------------------------------------------------------------------------------------


def test_a_member_in_its_first_epoch_gives_back_what_it_owns() -> None:
    """Epoch 1 is one like others: its partitions are revoked by a leave, and not lost."""
    play = Play.new().stable(0, epoch=1)
    play.do(Close(timeout_s=5.0))
    assert [call.kind for call in play.callbacks()] == [CallbackKind.REVOKED]


def test_who_owns_nothing_cannot_be_passed_over() -> None:
    """There is nothing to lose, and no reason to join once more."""
    play = ClassicPlay.cooperative(group_instance_id="i").stable(epoch=5).rebalanced()
    play.now += play.member.poll_interval_s
    play.answer(JoinGroup, admitted(7, strategy="cooperative-sticky"))
    assert (play.member.fences, play.sync_request().generation) == (0, 7)


def test_a_leave_request_waits_for_the_callback_and_for_what_is_owned() -> None:
    """Others are given the partitions with the leave request."""
    play = Play.new().stable(0, 1).told(orders(0, 1, 2))
    play.do(Close(timeout_s=50.0))
    play.advance(3.0)
    assert all(beat.epoch >= 0 for beat in play.heartbeats())
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    assert not any(isinstance(send.request, LeaveGroup) for send in play.sends())
    play.returns()
    assert isinstance(play.open(LeaveGroup).request, LeaveGroup)


def test_a_session_that_ended_forgets_the_request_of_that_session() -> None:
    """Its answer would be one to a member that is no more."""
    play = ClassicPlay.new(session_timeout_ms=9_000, request_timeout_ms=60_000).stable(0)
    play.advance(9.0)
    assert (play.member.state, play.member.dialogue) == (S.FENCED, None)


def test_a_join_that_follows_a_share_taken_away_settles_other_wishes() -> None:
    """One rebalance is enough for both."""
    play = ClassicPlay.cooperative().stable(0, 1).rebalanced()
    play.let_in(0, generation=2)
    play.do(Rebalance(reason="mine"))
    play.returns()
    assert play.member.classic.rejoin is None
    play.let_in(0, generation=3).let_callbacks_return()
    assert play.member.state is S.STABLE


def test_a_wish_for_other_reasons_outlives_a_join_that_was_under_way() -> None:
    """The plan that is being made is for the topics of now, but not for what the application wants."""
    play = ClassicPlay.cooperative().stable(0).rebalanced()
    play.do(Rebalance(reason="mine"))
    assert play.member.classic.rejoin == "mine"
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    assert play.member.classic.rejoin == "mine"


def test_a_member_of_the_group_that_hears_its_instance_id_is_held_is_fenced() -> None:
    """There is nothing to contest: it had the id, and joins again."""
    play = Play.new(group_instance_id="i").stable(0, epoch=1)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(111))
    assert (play.member.state, play.member.id_conflict) == (S.FENCED, None)


def test_an_epoch_that_goes_back_confirms_nothing() -> None:
    """Only a joiner may be told to wait by epoch 0; a member says everything again, after a pause."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    before = play.member.confirmed_at
    for epoch in (0, 1):
        play.answer(Heartbeat, accepted(epoch))
        assert (play.member.epoch, play.member.confirmed_at, play.member.accepted) == (2, before, None)
        assert play.member.dialogue_backoff.not_before > play.now
        play.advance(1.0)
    assert play.heartbeat().owned == orders(0)


def test_the_id_that_came_with_the_admission_is_the_one_to_use() -> None:
    """A static member is given a new one with each join, without being asked to join twice."""
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(member_id="i-1"))
    assert play.sync_request().member_id == "i-1"
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.advance(BEAT_S)
    beat = play.open(ClassicHeartbeat).request
    assert isinstance(beat, ClassicHeartbeat)
    assert beat.member_id == "i-1"


def test_topics_that_may_be_seen_say_nothing_of_other_problems() -> None:
    """A leader looks at topics all the time: that must not hide what its application has to learn."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    problem = Problem(kind=ProblemKind.CALLBACK_FAILED, detail="no.", number=7, epoch=1)
    play.member = replace(play.member, problem=problem)
    play.stays(play.member.config.metadata_max_age_ms / 1000)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.problem == problem


def test_a_fenced_member_waits_for_its_first_callback_before_it_joins_again() -> None:
    """It owns nothing yet, but the callback is about to bring something that must be lost first."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    assert (play.member.state, play.callbacks()[-1].kind) == (S.FENCED, CallbackKind.ASSIGNED)
    play.returns()
    assert (play.member.state, play.callbacks()[-1].kind) == (S.FENCED, CallbackKind.LOST)
    play.returns()
    assert (play.member.state, play.heartbeat().epoch) == (S.JOINING, 0)


def test_a_new_plan_is_tried_at_once_also_if_callbacks_failed_for_the_last_one() -> None:
    """Other partitions, other chances."""
    play = ClassicPlay.new()
    play.joining()
    play.let_in(0)
    play.returns("ValueError")
    assert play.member.call_backoff.failures == 1
    play.member = replace(play.member, call_backoff=Backoff(9, play.now + 60.0))
    play.rebalanced()
    play.let_in(1, generation=2)
    assert (play.member.call_backoff, play.callbacks()[-1].kind) == (FRESH, CallbackKind.ASSIGNED)


def test_a_share_does_not_take_back_what_a_heartbeat_beside_it_confirmed() -> None:
    """The share was asked for before that heartbeat was: the session counts from the later of the two."""
    play = ClassicPlay.cooperative(session_timeout_ms=20_000).stable(0, 1).rebalanced()
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    play.waits(4 * BEAT_S)
    confirmed_at = play.member.confirmed_at
    assert confirmed_at is not None
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    assert play.member.confirmed_at == confirmed_at > play.now - 2 * BEAT_S


def test_a_session_that_ended_here_is_joined_again_under_the_id_that_was_given() -> None:
    """The coordinator may count otherwise, and still know it."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0)
    play.advance(20.0)
    play.let_callbacks_return()
    assert play.member.enrolled
    if play.member.coordinator is None:
        play.find_coordinator()
    play.advance(1.0)
    assert play.join_request().member_id == "given"


def test_a_fenced_member_wishes_no_rebalance() -> None:
    """The wish was one to a group that does not know it any more."""
    play = ClassicPlay.new()
    play.joining()
    play.let_in(0)
    play.do(Rebalance(reason="mine"))
    play.advance(BEAT_S)
    assert play.member.classic.rejoin == "mine"
    play.answer(ClassicHeartbeat, Refused(25))
    assert (play.member.state, play.member.classic.rejoin) == (S.FENCED, None)


def test_pauses_are_as_long_as_the_keys_say() -> None:
    """In milliseconds, the first and the longest, but for the share that is the member's own."""
    settings = config(retry_backoff_ms=1000, retry_backoff_max_ms=3000)
    for failures, pause_s in [(0, 1.0), (1, 2.0), (2, 3.0)]:
        pace = Backoff(failures).failed(0.0, seed="me", config=settings)
        assert pace.not_before == pytest.approx(pause_s * _jitter("me", failures))


def test_members_that_are_refused_together_do_not_come_back_together() -> None:
    """A coordinator that loads would be asked by a thousand members at the same moment."""
    pauses = set()
    for member_id in ("a", "b", "c"):
        play = Play(Member(config=config(), member_id=member_id)).joining()
        play.answer(Heartbeat, Refused(14))
        pauses.add(play.member.dialogue_backoff.not_before - play.now)
    assert len(pauses) == 3
