"""Rebalances of a classic group, eager and cooperative, and what begins them."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace
from uuid import UUID

import pytest

from membership_client.core import reasons
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    ClassicHeartbeat,
    DescribeClassicGroup,
    DescribeTopics,
    GroupDescribed,
    GroupSynced,
    HeartbeatConfirmed,
    JoinGroup,
    MemberDescription,
    Rebalance,
    Refused,
    Response,
    Subscribe,
    SyncGroup,
    TopicsDescribed,
)
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import CauseKind, MemberState
from tests.core.classic_play import (
    BEAT_S,
    REBALANCE_IN_PROGRESS,
    ClassicPlay,
    admitted,
    owned,
    share,
)

S = MemberState


def kinds(play: ClassicPlay) -> list[tuple[CallbackKind, int]]:
    return [(call.kind, len(call.partitions)) for call in play.callbacks()]


# --- eager -----------------------------------------------------------------------------------------------------------


def test_an_eager_member_gives_everything_back_before_it_joins() -> None:
    """The join waits for the revoked callback, and the share is assigned anew, also what it had before."""
    play = ClassicPlay.new().stable(0, 1).rebalanced()
    assert (play.member.state, play.member.dialogue) == (S.RECONCILING, None)
    play.returns()
    assert play.member.state is S.JOINING
    assert play.join_request().owned == frozenset()
    play.let_in(1, 2, generation=2)
    play.returns()
    assert (play.member.state, play.member.epoch, play.member.owned) == (S.STABLE, 2, owned(1, 2))
    assert kinds(play) == [(CallbackKind.REVOKED, 2), (CallbackKind.ASSIGNED, 2)]


def test_an_eager_member_remembers_what_it_held() -> None:
    """The sticky assignor gives it the same again, by what the last plan said in its generation."""
    play = ClassicPlay.new(partition_assignment_strategy="sticky").stable(0, 1, epoch=5).rebalanced()
    play.returns()
    assert (play.join_request().held, play.join_request().generation) == (share(0, 1), 5)


def test_heartbeats_go_on_while_the_revoked_callback_runs() -> None:
    """Otherwise a slow commit would cost the membership; that the group still rebalances is no news."""
    play = ClassicPlay.new().stable(0).rebalanced()
    for _ in range(3):
        play.advance(BEAT_S)
        play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    assert (play.member.state, len(play.callbacks())) == (S.RECONCILING, 1)


def test_a_rebalance_during_the_assigned_callback_waits_for_it() -> None:
    """What it brings becomes ours, and is then given back."""
    play = ClassicPlay.new()
    play.joining()
    play.let_in(0)
    play.rebalanced()
    assert kinds(play) == [(CallbackKind.ASSIGNED, 1)]
    play.returns()
    assert kinds(play) == [(CallbackKind.ASSIGNED, 1), (CallbackKind.REVOKED, 1)]


def test_a_rebalance_during_the_sync_starts_again() -> None:
    """Another member joined while the plan was made."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, Refused(REBALANCE_IN_PROGRESS))
    assert (play.member.state, play.join_request().reason) == (S.JOINING, reasons.REBALANCING)


# --- cooperative -----------------------------------------------------------------------------------------------------


def test_a_cooperative_member_keeps_its_partitions_while_it_joins() -> None:
    """It says what it owns, and in which generation it got it."""
    play = ClassicPlay.cooperative().stable(0, 1, epoch=3).rebalanced()
    assert (play.member.state, play.callbacks()) == (S.JOINING, [])
    assert (play.join_request().owned, play.join_request().generation) == (share(0, 1), 3)


def test_a_share_that_only_adds_needs_no_second_join() -> None:
    """No other member waits for one of our partitions."""
    play = ClassicPlay.cooperative().stable(0).rebalanced()
    play.let_in(0, 1, generation=2)
    play.returns()
    assert (play.member.state, kinds(play)) == (S.STABLE, [(CallbackKind.ASSIGNED, 1)])


def test_a_share_that_takes_something_away_is_followed_by_a_join() -> None:
    """So that others can be given it: the acknowledgement of a cooperative group."""
    play = ClassicPlay.cooperative().stable(0, 1).rebalanced()
    play.let_in(0, generation=2)
    assert kinds(play) == [(CallbackKind.REVOKED, 1)]
    play.returns()
    assert play.member.state is S.ACK
    assert (play.join_request().owned, play.join_request().reason) == (share(0), reasons.REVOKED)
    play.let_in(0, generation=3)
    assert (play.member.state, play.member.epoch) == (S.STABLE, 3)


def test_a_follow_up_join_that_fails_is_repeated() -> None:
    """It is still owed, and says the same."""
    play = ClassicPlay.cooperative().stable(0, 1).rebalanced()
    play.let_in(0, generation=2)
    play.returns()
    play.fail(JoinGroup)
    play.advance(0.2)
    play.find_coordinator()
    assert (play.member.state, play.join_request().reason) == (S.ACK, reasons.REVOKED)


def test_a_topic_that_is_given_up_is_revoked_before_the_join() -> None:
    """The group could not assign it to another member if we still said that we own it."""
    play = ClassicPlay.cooperative()
    play.joining("orders", "bills")
    play.answer(JoinGroup, admitted(strategy="cooperative-sticky"))
    play.answer(SyncGroup, GroupSynced(share(0) | share(0, topic="bills")))
    play.let_callbacks_return()
    play.do(Subscribe(frozenset({"orders"})))
    assert play.callbacks()[-1].partitions == tuple(share(0, topic="bills"))
    play.returns()
    assert (play.join_request().topics, play.join_request().owned) == ({"orders"}, share(0))


def test_a_list_with_an_eager_strategy_is_eager() -> None:
    """As in Java: so that a group can be moved to the cooperative one by two rolling restarts."""
    play = ClassicPlay.new(partition_assignment_strategy="cooperative-sticky,range").stable(0).rebalanced()
    assert kinds(play) == [(CallbackKind.REVOKED, 1)]


# --- what begins one -------------------------------------------------------------------------------------------------


def test_a_new_subscription_rebalances() -> None:
    """At once, with the reason and the cause that say so."""
    play = ClassicPlay.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    play.returns()
    assert play.join_request().reason == reasons.SUBSCRIPTION_CHANGED
    assert play.member.cause is not None
    assert play.member.cause.kind is CauseKind.SUBSCRIPTION_CHANGED


def test_the_same_subscription_does_not() -> None:
    """A subscribe() that says nothing new costs nothing."""
    play = ClassicPlay.new().stable(0)
    play.do(Subscribe(frozenset({"orders"})))
    assert (play.member.state, play.effects) == (S.STABLE, [])


def test_a_subscription_that_changes_during_a_join_is_joined_with_next() -> None:
    """The join that is under way cannot be changed any more."""
    play = ClassicPlay.new()
    play.joining()
    play.do(Subscribe(frozenset({"bills"})))
    play.let_in(0)
    assert (play.join_request().topics, play.member.owned) == ({"bills"}, owned())


@pytest.mark.parametrize(("given", "told"), [("x" * 300, "x" * 255), (None, reasons.ENFORCED)])
def test_the_application_can_enforce_one(given: str | None, told: str) -> None:
    """In its own words, as long as Kafka's own client would make them."""
    play = ClassicPlay.new().stable(0)
    play.do(Rebalance(reason=given))
    play.returns()
    assert play.join_request().reason == told


def test_a_leader_that_sees_a_topic_grow_has_the_group_rebalance() -> None:
    """No other member watches the topics in a classic group."""
    play = ClassicPlay.new(metadata_max_age_ms=2000).leading({"orders": TopicLayout(1)})
    play.stays(2.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.state is S.STABLE
    play.stays(2.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.TOPICS_CHANGED


def test_a_leader_that_sees_a_topic_go_has_the_group_rebalance() -> None:
    """Its partitions are given back, and the next plan has none of it."""
    play = ClassicPlay.new(metadata_max_age_ms=2000).leading({"orders": TopicLayout(2)})
    play.stays(2.0)
    play.answer(DescribeTopics, TopicsDescribed({}))
    assert kinds(play) == [(CallbackKind.REVOKED, 2)]
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.TOPICS_CHANGED
    play.answer(JoinGroup, admitted(2, leads=True))
    play.answer(DescribeTopics, TopicsDescribed({}))
    assert play.sync_request().plan == {"given": ()}


@pytest.mark.parametrize("rack", [None, "r1"])
def test_racks_matter_to_a_leader_that_has_one(rack: str | None) -> None:
    """A broker that was down took its rack with it: groups without racks gave everything back, twice."""
    racked = {"orders": TopicLayout(1, (frozenset({"r1"}),))}
    play = ClassicPlay.new(metadata_max_age_ms=2000, client_rack=rack).leading(racked)
    play.stays(2.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1, (frozenset(),))}))
    play.let_callbacks_return()
    assert play.member.state is (S.STABLE if rack is None else S.JOINING)


def test_a_topic_that_does_not_exist_yet_is_looked_for_often() -> None:
    """An application that subscribes before it creates the topic does not wait for minutes."""
    play = ClassicPlay.new().leading({})
    play.stays(5.0)
    play.answer_check()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.join_request().reason == reasons.TOPICS_CHANGED


def test_a_follower_of_an_old_broker_does_not_look_at_topics() -> None:
    """A thousand members do not ask for what one must know, where topics have no ids that each would have to know."""
    play = ClassicPlay.new().stable(0)
    play.stays(600.0)
    assert not any(isinstance(send.request, DescribeTopics) for send in play.sends())


OLD, NEW = UUID(int=1), UUID(int=2)


def seen(topic_id: UUID) -> TopicsDescribed:
    return TopicsDescribed({"orders": TopicLayout(6, topic_id=topic_id)})


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_topic_that_was_replaced_is_given_back(strategy: str) -> None:
    """Deleted and created anew between two looks: also a cooperative member keeps nothing of the old one.

    Until the callback has returned the old one's id is known, so that nothing is committed to the new one.
    """
    play = ClassicPlay.new(metadata_max_age_ms=2000, partition_assignment_strategy=strategy).stable(0, 1, topic_id=OLD)
    play.stays(2.0)
    play.answer(DescribeTopics, seen(OLD))
    assert play.member.state is S.STABLE
    play.stays(2.0)
    play.answer(DescribeTopics, seen(NEW))
    assert kinds(play)[-1] == (CallbackKind.REVOKED, 2)
    assert play.member.classic.topic_ids == {"orders": OLD}
    play.let_callbacks_return()
    assert (play.join_request().reason, play.join_request().owned) == (reasons.TOPICS_CHANGED, frozenset())
    play.let_in(0, 1, generation=2, topic_id=NEW)
    play.let_callbacks_return()
    assert (play.member.state, play.member.classic.topic_ids) == (S.STABLE, {"orders": NEW})


def test_a_topic_that_is_replaced_while_the_group_rebalances_is_given_back_afterwards() -> None:
    """A cooperative member keeps it during the join, and looks once more when a plan has come."""
    play = ClassicPlay.cooperative().stable(0, 1, topic_id=OLD).rebalanced()
    play.let_in(0, 1, generation=2, topic_id=NEW)
    assert kinds(play)[-1] == (CallbackKind.REVOKED, 2)
    play.let_callbacks_return()
    assert play.join_request().owned == frozenset()


def test_a_leader_that_sees_another_topic_of_the_same_name_has_the_group_rebalance_once() -> None:
    """The names and numbers are the same, the topic is not."""
    play = ClassicPlay.cooperative(metadata_max_age_ms=2000).leading({"orders": TopicLayout(6, topic_id=OLD)})
    play.stays(2.0)
    play.answer(DescribeTopics, seen(NEW))
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.TOPICS_CHANGED
    play.answer(JoinGroup, admitted(2, leads=True, strategy="cooperative-sticky"))
    play.answer(DescribeTopics, seen(NEW))
    play.answer(SyncGroup, GroupSynced(frozenset(play.sync_request().plan["given"])))
    play.let_callbacks_return()
    assert (play.member.state, play.member.classic.rejoin) == (S.STABLE, None)
    assert play.member.classic.topic_ids == {"orders": NEW}


def test_topics_that_are_denied_are_named_one_by_one() -> None:
    """The error names the denied topics only, so that an operator knows which access to grant."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    play.stays(300.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}, denied=frozenset({"bills", "audits"})))
    assert play.member.problem is not None
    assert play.member.problem.detail == "DESCRIBE on topics audits, bills is not granted."


def test_hundreds_of_rebalances_leave_nothing_behind_in_a_member() -> None:
    """Another partition each time, and another topic of the same name: what it knows does not grow."""
    play = ClassicPlay.new().stable(0, 1, topic_id=OLD)
    rebalance_often(play, 100)
    tracemalloc.start()
    rebalance_often(play, 100)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    rebalance_often(play, 400)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 4_000, "less than ten bytes for each rebalance"


def rebalance_often(play: ClassicPlay, times: int) -> None:
    for number in range(times):
        play.rebalanced()
        play.let_callbacks_return()
        play.let_in(number % 6, generation=play.member.epoch + 1, topic_id=UUID(int=number + 1))
        play.let_callbacks_return()
        assert play.member.state is S.STABLE
        play.effects.clear()


# --- the session -----------------------------------------------------------------------------------------------------


def test_a_session_that_nobody_confirms_ends_here_too() -> None:
    """The coordinator has given our partitions away by then, whether or not it can tell us."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0)
    play.advance(19.9)
    assert play.member.state is S.STABLE
    play.advance(0.2)
    assert (play.member.state, play.callbacks()[-1].kind) == (S.FENCED, CallbackKind.LOST)
    play.returns()
    assert (play.member.state, play.member.classic.reason) == (S.JOINING, reasons.SESSION_ENDED)


def test_a_session_that_ended_is_the_reason_also_of_the_second_join() -> None:
    """The coordinator has forgotten the member that comes back; the log spoke of that, and not of what had happened."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0)
    play.advance(20.1)
    play.returns()
    play.find_coordinator()
    play.answer(JoinGroup, Refused(Code.UNKNOWN_MEMBER_ID))
    play.advance(1.0)
    assert (play.join_request().member_id, play.join_request().reason) == ("", reasons.SESSION_ENDED)
    play.let_in(0)
    play.returns()
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    play.returns()
    assert play.join_request().reason == f"{reasons.COORDINATOR_ERROR} UNKNOWN_MEMBER_ID"


def test_a_session_does_not_end_while_a_join_waits_for_others() -> None:
    """The coordinator keeps a member that has joined, however long the others take."""
    play = ClassicPlay.cooperative(session_timeout_ms=20_000).stable(0).rebalanced().waits(120.0)
    assert (play.member.state, play.member.owned) == (S.JOINING, owned(0))


def test_a_heartbeat_that_speaks_of_a_rebalance_confirms_the_session() -> None:
    """It is an answer, and it is about us."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0).rebalanced()
    assert play.member.confirmed_at == play.now


@pytest.mark.parametrize("answer", [HeartbeatConfirmed(), Refused(REBALANCE_IN_PROGRESS)])
def test_a_session_counts_from_when_the_heartbeat_was_sent(answer: Response) -> None:
    """The coordinator counts from when it got it; a late answer made ours end after its."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0)
    play.advance(BEAT_S)
    asked = play.now
    play.advance(2.0)
    play.answer(ClassicHeartbeat, answer)
    assert play.member.confirmed_at == asked


def test_who_was_passed_over_has_lost_what_it_owned() -> None:
    """Found by simulation: the group had given it to others after its rebalance timeout, and both worked on it."""
    play = ClassicPlay.cooperative(group_instance_id="i").stable(0, 1, epoch=5).rebalanced()
    play.waits(play.member.poll_interval_s)
    play.answer(JoinGroup, admitted(7, strategy="cooperative-sticky"))
    assert kinds(play)[-1] == (CallbackKind.LOST, 2)
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.PASSED_OVER
    assert not play.join_request().owned


@pytest.mark.parametrize(("wait_s", "generation"), [(60.0, 7), (300.0, 6)])
def test_a_generation_that_cannot_have_passed_us_over_takes_nothing(wait_s: float, generation: int) -> None:
    """The answer to an earlier join was lost, and the group counted on us in it; or there was none between."""
    play = ClassicPlay.cooperative(group_instance_id="i").stable(0, 1, epoch=5).rebalanced().waits(wait_s)
    play.answer(JoinGroup, admitted(generation, strategy="cooperative-sticky"))
    assert play.member.call is None
    assert play.sync_request().generation == generation


@pytest.mark.parametrize("given_back", [True, False])
def test_a_leader_looks_again_at_a_plan_that_left_something_out(given_back: bool) -> None:
    """Found by simulation: the member that was to give it back restarted as a static member, and the partition never had an owner again."""
    play = ClassicPlay.cooperative().leading({"orders": TopicLayout(2)}).rebalanced()
    another = MemberSubscription(member_id="another", topics=frozenset({"orders"}))
    alone = admitted(2, leads=True, strategy="cooperative-sticky")
    held = replace(alone.members[0], owned=share(0, 1), generation=1)
    play.answer(JoinGroup, replace(alone, members=(held, another)))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    assert sum(map(len, play.sync_request().plan.values())) == 1
    # As if another had to give one up, and we nothing.
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.stays(play.member.session_timeout_s)
    described = MemberDescription(
        member_id="x", instance_id=None, client_id="c", host="h", current=share(0, 1) if given_back else share(0)
    )
    play.answer(DescribeClassicGroup, GroupDescribed((described,), state="Stable"))
    assert play.member.state is (S.STABLE if given_back else S.JOINING)
    assert given_back or play.join_request().reason == reasons.OUT_OF_DATE


def test_an_empty_share_after_a_fence_is_announced() -> None:
    """Every join ends in an assigned callback, also that of a member which was fenced and is given nothing any more."""
    play = ClassicPlay.new().stable(0).stays(BEAT_S)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    play.returns()
    play.let_in(generation=2)
    assert kinds(play)[-1] == (CallbackKind.ASSIGNED, 0)


def test_a_member_that_was_stable_since_its_last_fence_joins_again_at_once() -> None:
    """Only fences in a row back off: one a day must not make the member wait longer each time."""
    play = ClassicPlay.new().stable(0)
    for generation in (2, 3, 4):
        play.advance(BEAT_S)
        play.answer(ClassicHeartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
        play.returns()
        play.let_in(0, generation=generation)
        play.returns()
        assert play.member.state is S.STABLE


def test_an_eager_member_announces_an_empty_share_in_each_rebalance() -> None:
    """It gave everything back to join, so the application must hear that nothing comes instead."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    play.let_in(generation=2)
    assert kinds(play) == [(CallbackKind.REVOKED, 1), (CallbackKind.ASSIGNED, 0)]


def test_a_cooperative_member_that_has_nothing_and_gets_nothing_is_not_called() -> None:
    """A rebalance that changes nothing for it is not its application's business."""
    play = ClassicPlay.cooperative().stable().rebalanced()
    play.let_in(generation=2)
    assert kinds(play) == []


def test_a_denied_topic_stays_the_problem_until_it_is_granted() -> None:
    """It is looked for again and again, and each look that is denied as before changes nothing."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    shown = []
    for denied in (frozenset({"bills"}), frozenset({"bills"}), frozenset[str]()):
        play.stays(play.member.config.metadata_max_age_ms / 1000)
        play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}, denied=denied))
        shown.append(play.member.problem)
    assert shown[0] is not None
    assert shown == [shown[0], shown[0], None]


def test_a_member_that_gave_up_a_topic_does_not_claim_it_any_more() -> None:
    """What it says it held is what a sticky leader lets it keep."""
    play = ClassicPlay.cooperative()
    play.joining("orders", "bills")
    play.let_in(0)
    play.let_callbacks_return()
    play.rebalanced()
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    play.answer(SyncGroup, GroupSynced(share(0) | share(0, topic="bills")))
    play.let_callbacks_return()
    play.do(Subscribe(frozenset({"bills"})))
    play.returns()
    assert play.join_request().held == play.join_request().owned == share(0, topic="bills")


def test_a_leader_that_plans_for_another_topic_of_the_same_name_gives_the_old_one_back() -> None:
    """It kept the old one during the join, and its own plan gave it the new one under that name."""
    play = ClassicPlay.cooperative().leading({"orders": TopicLayout(6, topic_id=OLD)}).rebalanced()
    play.answer(JoinGroup, admitted(2, leads=True, strategy="cooperative-sticky"))
    play.answer(DescribeTopics, seen(NEW))
    play.answer(SyncGroup, GroupSynced(frozenset(play.sync_request().plan["given"])))
    assert kinds(play)[-1] == (CallbackKind.REVOKED, 6)
    play.returns()
    assert (play.join_request().reason, play.join_request().owned) == (reasons.TOPICS_CHANGED, frozenset())


def test_a_rebalance_that_is_asked_for_while_the_leader_makes_its_plan_follows_it() -> None:
    """What the application wants to change may not be in the plan yet."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)}).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2, leads=True))
    play.do(Rebalance(reason="new weights"))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    play.answer(SyncGroup, GroupSynced(frozenset(play.sync_request().plan["given"])))
    play.let_callbacks_return()
    assert play.join_request().reason == "new weights"
