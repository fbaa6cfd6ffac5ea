"""What is said to the coordinator, field by field, and what is shown to the application, by its values."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from membership_client.core.assignors.registry import register_assignor
from membership_client.core.classic.group_leader import MISSING_TOPIC_S
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackDelayed,
    CallbackKind,
    ClassicHeartbeat,
    Close,
    DescribeSessionTimeout,
    DescribeTopics,
    FindCoordinator,
    GroupSynced,
    Heartbeat,
    HeartbeatConfirmed,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Polled,
    Refused,
    Subscribe,
    SyncGroup,
    TopicsDescribed,
    Unsubscribe,
)
from membership_client.core.policy import denied, denied_offsets
from membership_client.core.topic_check import FIRST_LOOK_S, NEXT_LOOK_S
from membership_client.core.view import health_of, snapshot_of
from membership_client.errors import ProblemKind
from membership_client.subscriptions import Assignment, MemberSubscription, TopicLayout
from membership_client.types import CauseKind, Delay, GroupProtocol, LeaveMode, MemberState, TopicPartition
from membership_client.values import replace
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, in_classic_state, share
from tests.core.play import INTERVAL_S, Play, accepted, in_state, orders

S = MemberState


# --- KIP-848 ---------------------------------------------------------------------------------------------------------


def test_a_join_says_everything_and_a_heartbeat_only_who_it_is() -> None:
    """What did not change is null on the wire: a coordinator of a thousand members reads it each time."""
    play = Play.new(group_instance_id="i", client_rack="r1", group_remote_assignor="uniform").joining()
    assert play.heartbeat() == Heartbeat(
        group_id="g",
        member_id="me",
        epoch=0,
        instance_id="i",
        rack_id="r1",
        rebalance_timeout_s=300.0,
        topics=("orders",),
        regex="",
        assignor="uniform",
        owned=orders(),
    )
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics().let_callbacks_return()
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=2, instance_id="i", owned=orders(0))
    play.answer(Heartbeat, accepted(2))
    play.advance(INTERVAL_S)
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=2, instance_id="i")


def test_another_subscription_is_said_alone() -> None:
    """What is owned did not change, and is not repeated."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    assert play.heartbeat() == Heartbeat(
        group_id="g", member_id="me", epoch=2, instance_id=None, topics=("bills", "orders"), regex=""
    )


def test_the_same_partitions_by_another_target_are_acknowledged_as_well() -> None:
    """The coordinator waits for an answer to each target, also where nothing has to be done for it."""
    play = Play.new().stable(0)
    play.told(orders(0, 1), epoch=3)
    play.told(orders(0), epoch=4)
    play.let_callbacks_return()
    while play.member.state is not S.STABLE:
        if play.member.dialogue is None:
            play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(4))
        play.let_callbacks_return()
    said = [beat.owned for beat in play.heartbeats() if beat.owned is not None]
    assert said[-1] == orders(0)


@pytest.mark.parametrize(
    ("static", "mode", "epoch"),
    [(False, LeaveMode.REMAIN, None), (True, LeaveMode.REMAIN, -2), (True, LeaveMode.DEFAULT, -2)],
)
def test_who_stays_in_the_group_says_so(static: bool, mode: LeaveMode, epoch: int | None) -> None:
    """A static member that comes back finds its partitions; another says nothing, and its session ends."""
    play = Play.new(group_instance_id="i" if static else None).stable(0)
    play.do(Close(timeout_s=5.0, mode=mode))
    play.returns()
    if epoch is None:
        assert play.member.closed is not None
        assert play.member.closed.outcome == "nothing told: stays until its session ends"
    else:
        assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=epoch, instance_id="i")


# --- classic ---------------------------------------------------------------------------------------------------------


def test_each_request_of_a_classic_member_says_who_it_is() -> None:
    """The group, the id that was given, the instance id and the generation."""
    play = ClassicPlay.cooperative(client_rack="r1", session_timeout_ms=20_000).stable(0, 1, epoch=4).rebalanced()
    join = play.join_request()
    assert (join.group_id, join.member_id, join.instance_id, join.generation) == ("g", "given", None, 4)
    assert (join.session_timeout_s, join.rebalance_timeout_s, join.rack) == (20.0, 300.0, "r1")
    assert (join.owned, join.held, join.topics) == (share(0, 1), share(0, 1), frozenset({"orders"}))
    assert join.strategies == ("cooperative-sticky",)
    play.answer(JoinGroup, admitted(5, strategy="cooperative-sticky"))
    assert play.sync_request() == SyncGroup(
        group_id="g", member_id="given", instance_id=None, generation=5, strategy="cooperative-sticky", plan={}
    )
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.let_callbacks_return()
    play.advance(BEAT_S)
    assert play.open(ClassicHeartbeat).request == ClassicHeartbeat(
        group_id="g", member_id="given", instance_id=None, generation=5
    )
    play.answer(ClassicHeartbeat, HeartbeatConfirmed())
    play.do(Unsubscribe())
    play.returns()
    leave = play.open(LeaveGroup).request
    assert isinstance(leave, LeaveGroup)
    assert (leave.group_id, leave.member_id, leave.instance_id) == ("g", "given", None)


def test_an_eager_member_says_what_it_gave_back_and_by_which_plan() -> None:
    """A sticky leader gives it the same again."""
    play = ClassicPlay.new(partition_assignment_strategy="sticky").stable(0, 1, epoch=4).rebalanced()
    play.returns()
    join = play.join_request()
    assert (join.owned, join.held, join.generation) == (frozenset(), share(0, 1), 4)


@pytest.mark.parametrize("cooperative", [True, False])
def test_a_plan_of_ones_own_is_judged_by_how_it_is_registered(cooperative: bool) -> None:
    """A cooperative one must not give a partition to a new owner while another holds it; an eager one may."""
    name = f"swapping-{cooperative}"
    register_assignor(name, _all_to_the_newcomer, cooperative=cooperative)
    play = ClassicPlay.new(partition_assignment_strategy=name)
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    holder = MemberSubscription(member_id="holder", topics=frozenset({"orders"}), owned=share(0, 1), generation=1)
    alone = admitted(2, leads=True, strategy=name)
    play.answer(JoinGroup, replace(alone, members=(*alone.members, holder)))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    assert (play.member.state is S.FATAL) == cooperative
    if cooperative:
        assert play.member.problem is not None
        assert play.member.problem.kind is ProblemKind.ASSIGNOR_FAILED
        assert "while holder still holds it" in play.member.problem.detail


def _all_to_the_newcomer(_members: Sequence[MemberSubscription], topics: object) -> Assignment:
    return {"given": [TopicPartition("orders", 0), TopicPartition("orders", 1)]}


def test_a_leader_looks_at_topics_as_often_as_it_is_told_and_at_missing_ones_more_often() -> None:
    """The age is in milliseconds."""
    play = ClassicPlay.new(metadata_max_age_ms=60_000).leading({"orders": TopicLayout(2)})
    seen_at = play.member.classic.survey_due
    assert seen_at == play.now + 60.0
    play.stays(60.0)
    play.answer(DescribeTopics, TopicsDescribed({}))
    assert play.member.classic.survey_due == play.now + MISSING_TOPIC_S


@pytest.mark.parametrize("state", [S.JOINING, S.RECONCILING, S.STABLE])
def test_a_wish_to_rebalance_is_not_kept_by_a_member_that_leaves(state: MemberState) -> None:
    """It has no group any more to rebalance."""
    play = in_classic_state(state)
    play.do(Unsubscribe())
    assert (play.member.classic.rejoin, play.member.classic.admission, play.member.target) == (None, None, None)


def test_a_rebalance_of_a_changed_subscription_says_so() -> None:
    """In the cause, which the callbacks are given."""
    play = ClassicPlay.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    assert play.member.cause is not None
    assert play.member.cause.kind is CauseKind.SUBSCRIPTION_CHANGED
    play = ClassicPlay.new().stable(0).rebalanced()
    assert play.member.cause is not None
    assert play.member.cause.kind is CauseKind.GROUP_CHANGED


# --- shown -----------------------------------------------------------------------------------------------------------


def test_a_callback_that_cannot_begin_is_shown_with_its_time() -> None:
    """In the snapshot and in the health, until it has begun and returned."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    assert play.member.call is not None
    assert (snapshot_of(play.member, play.now).delay, "offsets" in health_of(play.member, play.now).why) == (
        None,
        False,
    )
    play.do(CallbackDelayed(play.member.call.call_id + 1, play.now, "another's"))
    assert snapshot_of(play.member, play.now).delay is None
    play.do(CallbackDelayed(play.member.call.call_id, play.now, "offsets"))
    assert snapshot_of(play.member, play.now + 4.0).delay == Delay("offsets", 4.0)
    assert snapshot_of(play.member, play.now - 4.0).delay == Delay("offsets", 0.0)
    assert "offsets" in health_of(play.member, play.now).why
    play.returns()
    assert snapshot_of(play.member, play.now).delay is None


def test_a_callback_is_given_the_epoch_and_says_whether_more_may_come() -> None:
    """A first empty share is provisional: the others still hold the partitions."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(7, orders()))
    (call,) = play.callbacks()
    assert (call.kind, call.epoch, call.provisional, call.deadline) == (CallbackKind.ASSIGNED, 7, True, None)
    play = Play.new().stable(0, 1).told(orders(0), epoch=8)
    call = play.callbacks()[-1]
    deadline = play.now + play.member.poll_interval_s
    assert (call.kind, call.epoch, call.provisional, call.deadline) == (CallbackKind.REVOKED, 8, False, deadline)


def test_what_is_not_granted_is_named_as_the_operation_and_the_resource() -> None:
    """So that an operator can grant it without a search."""
    member = Play.new().joining().member
    find, configs = FindCoordinator(group_id="g"), DescribeSessionTimeout(group_id="g")
    beat = Heartbeat(group_id="g", member_id="me", epoch=0, instance_id=None)
    assert denied(member, find, Code.GROUP_AUTHORIZATION_FAILED) == "DESCRIBE on group g is not granted"
    assert denied(member, beat, Code.GROUP_AUTHORIZATION_FAILED) == "READ on group g is not granted"
    assert denied(member, beat, Code.TOPIC_AUTHORIZATION_FAILED) == "DESCRIBE on topic orders is not granted"
    cluster = denied(member, configs, Code.CLUSTER_AUTHORIZATION_FAILED)
    assert cluster == "DESCRIBE_CONFIGS on the cluster is not granted, which DescribeSessionTimeout needs here"
    assert denied(member, beat, Code.UNKNOWN_MEMBER_ID) is None


def test_what_is_not_granted_of_offsets_is_named_too() -> None:
    """A code for topics without any topic says nothing that could be granted."""
    topics = {"orders", "bills"}
    text = denied_offsets("READ", "g", topics, Code.TOPIC_AUTHORIZATION_FAILED)
    assert text == "READ on topics bills, orders is not granted"
    assert denied_offsets("READ", "g", (), Code.TOPIC_AUTHORIZATION_FAILED) is None
    assert denied_offsets("READ", "g", topics, Code.GROUP_AUTHORIZATION_FAILED) == "READ on group g is not granted"
    assert denied_offsets("READ", "g", topics, Code.UNKNOWN_MEMBER_ID) is None


@pytest.mark.parametrize(("code", "words"), [(30, "DESCRIBE on group g is not granted (GROUP_AUTH"), (9999, "9999")])
def test_a_search_that_is_refused_for_good_says_why(code: int, words: str) -> None:
    """With what is missing, if it is a grant."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    play.answer(FindCoordinator, Refused(code))
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    assert words in play.member.problem.detail


def test_a_full_group_that_is_waited_for_does_not_count_on_us() -> None:
    """There is no coordinator that a close could tell."""
    play = Play.new(retry_when_full_s=7.0).joining()
    play.answer(Heartbeat, Refused(Code.GROUP_MAX_SIZE_REACHED, "full"))
    assert not play.member.enrolled
    assert play.member.dialogue_backoff.not_before == play.now + 7.0
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.WAITING_FOR_ROOM


def test_who_polls_again_is_warned_again() -> None:
    """The warnings of the time before it left are over."""
    play = Play.new(max_poll_interval_ms=20_000).stable(0)
    play.do(Polled(play.now))
    for _ in range(20):
        play.advance(1.0)
        if play.member.dialogue and play.member.state is S.STABLE:
            play.answer(Heartbeat, accepted(2))
    assert (play.member.state, play.member.poll_warnings, play.member.polled_at) == (S.STALE, 0, None)
    assert play.member.epoch == 0


def test_other_denied_topics_are_another_problem() -> None:
    """One was granted meanwhile, another was not thought of."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    shown = []
    for topic in ("bills", "audits"):
        play.stays(play.member.config.metadata_max_age_ms / 1000)
        play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}, denied=frozenset({topic})))
        assert play.member.problem is not None
        shown.append(play.member.problem.detail)
    assert shown == [f"DESCRIBE on topic {topic} is not granted." for topic in ("bills", "audits")]


def test_a_protocol_that_was_chosen_is_shown_before_the_first_answer() -> None:
    """Only what `auto` means is not known yet."""
    assert snapshot_of(ClassicPlay.new().member, 0.0).protocol is GroupProtocol.CLASSIC
    assert snapshot_of(Play.new(group_protocol="consumer").member, 0.0).protocol is GroupProtocol.CONSUMER


def test_errors_name_a_classic_member_by_the_id_that_it_was_given() -> None:
    """Operators find it in the coordinator's log; before it is given one, by our own."""
    assert ClassicPlay.new().member.identity.member_id == "me"
    assert ClassicPlay.new().stable(0).member.identity.member_id == "given"


# --- topics that do not exist ----------------------------------------------------------------------------------------


def missing(*topics: str) -> TopicsDescribed:
    return TopicsDescribed({}, unknown=frozenset(topics))


def test_of_several_topics_each_that_is_missing_is_named() -> None:
    """And one that came into being meanwhile is not."""
    play = Play.new().joining("bill", "order")
    play.answer(Heartbeat, accepted(2))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    assert play.member.topic_check.due == play.now + FIRST_LOOK_S
    play.advance(FIRST_LOOK_S)
    play.answer_check(missing("bill", "order"))
    assert play.member.topic_check.unnamed == {"bill", "order"}
    play.answer_check(TopicsDescribed({"bill": TopicLayout(1), "orders": TopicLayout(1)}))
    check = play.member.topic_check
    assert (dict(check.missing), check.unnamed, check.due) == ({"order": "orders"}, frozenset(), play.now + NEXT_LOOK_S)


def test_a_topic_that_is_no_longer_subscribed_is_not_looked_for_by_name() -> None:
    """Its name was still to be compared with the others."""
    play = Play.new().joining("bill", "order")
    play.answer(Heartbeat, accepted(2))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    play.advance(FIRST_LOOK_S)
    play.answer_check(missing("bill", "order"))
    play.do(Subscribe(frozenset({"order"})))
    assert play.member.topic_check.unnamed == {"order"}
    play.answer_check(TopicsDescribed({}))
    assert dict(play.member.topic_check.missing) == {"order": None}


def test_nothing_is_looked_up_by_a_member_that_is_not_stable() -> None:
    """During a rebalance it is not known what the member will have."""
    play = in_state(S.STABLE)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert play.member.state is S.RECONCILING
    play.advance(FIRST_LOOK_S * 2)
    assert play.member.checking is None
