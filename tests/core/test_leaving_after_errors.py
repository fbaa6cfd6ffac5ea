"""A member that ends FATAL tells the coordinator that it leaves, where the coordinator still counts it as a member."""

from __future__ import annotations

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    Close,
    CoordinatorDoubted,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeTopics,
    FailureKind,
    FindCoordinator,
    GroupDescribed,
    GroupLeft,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberDescription,
    MemberIdGiven,
    Refused,
    ResolveTopics,
    Subscribe,
    TopicsDescribed,
)
from membership_client.core.machine import deadline
from membership_client.errors import ProblemKind
from membership_client.partitions import Partitions
from membership_client.subscriptions import TopicLayout
from membership_client.types import LeaveMode, MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted
from tests.core.play import BILLS, BROKER, INTERVAL_S, ORDERS, Play, accepted, in_state

S = MemberState
BAD_PATTERN = Subscribe(regex="((")


def refused_for_good(code: int = Code.INVALID_REGULAR_EXPRESSION, **overrides: object) -> Play:
    """A stable member whose next heartbeat is refused; its lost callback runs."""
    play = Play.new(**overrides).stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(code, "no"))
    return play


def leave_requests(play: Play) -> list[LeaveGroup]:
    return [send.request for send in play.sends() if isinstance(send.request, LeaveGroup)]


def test_a_member_that_states_a_bad_pattern_leaves() -> None:
    """The bug: the coordinator kept its partitions for the whole session, 45 s, and no other member got them."""
    play = Play.new().stable(0)
    play.do(BAD_PATTERN)
    play.answer(Heartbeat, Refused(Code.INVALID_REGULAR_EXPRESSION))
    play.returns()
    (leave,) = leave_requests(play)
    assert (leave.member_id, leave.reason) == ("me", "ended by an error: invalid regex")
    play.answer(LeaveGroup, GroupLeft())
    assert (play.member.state, play.member.enrolled, play.member.epoch, deadline(play.member)) == (
        S.FATAL,
        False,
        0,
        None,
    )
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.INVALID_REGEX


@pytest.mark.parametrize(
    "code", [Code.INVALID_REQUEST, Code.UNSUPPORTED_ASSIGNOR, Code.INVALID_GROUP_ID, Code.UNSUPPORTED_VERSION, 9999]
)
def test_a_member_whose_heartbeat_is_refused_for_good_leaves(code: int) -> None:
    """A refused heartbeat takes no member out of the group."""
    play = refused_for_good(code)
    play.returns()
    assert len(leave_requests(play)) == 1


def test_the_lost_callback_returns_before_the_coordinator_is_told() -> None:
    """Until then the application may still write what belongs to the partitions, and another member must not own them."""
    play = refused_for_good()
    play.advance(60.0)
    assert not leave_requests(play)
    play.returns()
    assert len(leave_requests(play)) == 1


@pytest.mark.parametrize(
    "code",
    [Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH, Code.GROUP_ID_NOT_FOUND, Code.COORDINATOR_NOT_AVAILABLE],
)
def test_the_leave_request_never_changes_what_ended_the_member(code: int) -> None:
    """Its user must learn of the pattern, and not of what followed."""
    play = refused_for_good()
    ended_by = play.member.problem
    play.returns()
    play.answer(LeaveGroup, Refused(code))
    play.advance(60.0)
    assert (play.member.state, play.member.problem, play.member.departure) == (S.FATAL, ended_by, None)


def test_a_coordinator_that_cannot_be_found_any_more_does_not_change_it_either() -> None:
    """Also if looking for it is denied."""
    play = refused_for_good()
    ended_by = play.member.problem
    play.returns()
    play.fail(LeaveGroup)
    play.answer(FindCoordinator, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    assert play.member.problem == ended_by


def test_the_leave_request_is_given_up_after_the_request_timeout() -> None:
    """A coordinator that does not answer must not keep a member busy that has ended."""
    play = refused_for_good()
    play.returns()
    play.advance(play.member.request_timeout_s + 1.0)
    assert (play.member.state, play.member.departure, deadline(play.member)) == (S.FATAL, None, None)


def test_a_broker_without_reasons_is_told_without_one() -> None:
    """As in any other leave."""
    play = refused_for_good()
    play.returns()
    play.fail(LeaveGroup, FailureKind.UNSUPPORTED)
    assert play.heartbeat().epoch == -1


def test_a_static_member_leaves_for_a_while() -> None:
    """Its next incarnation gets the same partitions, and the instance id is free for it at once."""
    play = refused_for_good(group_instance_id="i")
    play.returns()
    assert (play.heartbeat().epoch, play.heartbeat().instance_id) == (-2, "i")


# --- no longer a member ----------------------------------------------------------------------------------------------


def test_a_joiner_that_is_refused_for_good_sends_no_leave_request() -> None:
    """The coordinator never let it in."""
    play = Play.new().joining()
    play.answer(Heartbeat, Refused(Code.INVALID_REGULAR_EXPRESSION))
    assert (play.member.state, play.member.enrolled, len(play.open_sends())) == (S.FATAL, False, 0)


def test_a_joiner_whose_first_join_was_not_answered_leaves() -> None:
    """The coordinator may have let it in by that join, and refused only the second one."""
    play = Play.new().joining()
    play.fail(Heartbeat)
    play.find_coordinator()
    play.advance(1.0)
    play.answer(Heartbeat, Refused(Code.INVALID_REGULAR_EXPRESSION))
    assert len(leave_requests(play)) == 1


def test_a_member_that_was_fenced_by_its_epoch_is_still_counted() -> None:
    """FENCED_MEMBER_EPOCH refuses a heartbeat, and leaves the member where it is: 45 s for the group."""
    play = refused_for_good(Code.FENCED_MEMBER_EPOCH)
    play.returns()
    play.answer(Heartbeat, Refused(Code.INVALID_REGULAR_EXPRESSION))
    assert len(leave_requests(play)) == 1


def test_a_member_that_the_coordinator_does_not_know_any_more_does_not_leave() -> None:
    """It was removed already."""
    play = refused_for_good(Code.UNKNOWN_MEMBER_ID)
    play.returns()
    play.answer(Heartbeat, Refused(Code.INVALID_REGULAR_EXPRESSION))
    assert (play.member.state, leave_requests(play), play.open_sends()) == (S.FATAL, [], [])


def test_a_member_whose_instance_id_was_taken_over_does_not_leave() -> None:
    """The instance id is the other's by now."""
    play = in_state(S.STABLE, group_instance_id="i")
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(Code.FENCED_INSTANCE_ID))
    play.returns()
    other = MemberDescription(member_id="other", instance_id="i", client_id="c", host="h")
    play.answer(DescribeGroup, GroupDescribed((other,)))
    assert (play.member.state, play.open_sends()) == (S.FATAL, [])


def test_a_joiner_that_loses_its_instance_id_to_another_does_not_leave() -> None:
    """Although the coordinator knew this member when it was fenced by its epoch."""
    play = refused_for_good(Code.FENCED_MEMBER_EPOCH, group_instance_id="i")
    play.returns()
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID))
    other = MemberDescription(member_id="other", instance_id="i", client_id="c", host="h")
    play.answer(DescribeGroup, GroupDescribed((other,)))
    assert (play.member.state, play.open_sends()) == (S.FATAL, [])


@pytest.mark.parametrize("code", [Code.GROUP_AUTHORIZATION_FAILED, Code.CLUSTER_AUTHORIZATION_FAILED])
def test_a_member_without_rights_does_not_ask_once_more(code: int) -> None:
    """A leave needs the same right, so it would only be one more denied request in the broker's log."""
    play = refused_for_good(code)
    play.returns()
    assert (play.open_sends(), deadline(play.member)) == ([], None)


@pytest.mark.parametrize("failure", [FailureKind.AUTHENTICATION, FailureKind.UNTRUSTED])
def test_a_member_without_a_connection_does_not_open_one_to_leave(failure: FailureKind) -> None:
    """Each further attempt with a wrong password may lock the account."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.fail(Heartbeat, failure)
    play.returns()
    assert (play.member.state, play.open_sends(), deadline(play.member)) == (S.FATAL, [], None)


@pytest.mark.parametrize("failure", [FailureKind.AUTHENTICATION, FailureKind.UNTRUSTED])
def test_a_close_with_a_wrong_password_tries_once(failure: FailureKind) -> None:
    """It tried for ten seconds, a dozen times: enough to lock the account of all other members."""
    play = Play.new().stable()
    play.do(Close(timeout_s=10.0))
    play.fail(LeaveGroup, failure)
    assert play.member.closed is not None
    assert [(step.name, step.outcome) for step in play.member.closed.steps] == [("leave", "not told: it broke")]
    assert not play.member.closed.clean


def test_a_close_that_looks_for_its_coordinator_with_a_wrong_password_tries_once() -> None:
    """The same, where no connection is left."""
    play = Play.new().stable()
    play.do(Close(timeout_s=10.0))
    play.fail(LeaveGroup)
    play.fail(FindCoordinator, FailureKind.AUTHENTICATION)
    assert play.member.closed is not None


def test_a_leave_after_an_error_that_finds_no_coordinator_with_its_password_ends() -> None:
    """Nothing of it is left under way."""
    play = refused_for_good()
    play.returns()
    play.fail(LeaveGroup)
    play.fail(FindCoordinator, FailureKind.AUTHENTICATION)
    assert (play.member.departure, play.member.lookup, deadline(play.member)) == (None, None, None)


def test_a_wrong_password_does_not_end_a_close_under_its_callback() -> None:
    """The partitions are still the application's; the leave request comes after the callback, and may get through."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=60.0))
    play.advance(INTERVAL_S)
    play.fail(Heartbeat, FailureKind.AUTHENTICATION)
    assert (play.member.state, play.member.closed) == (S.LEAVING, None)


def test_a_wrong_password_elsewhere_does_not_end_a_close_that_the_coordinator_hears() -> None:
    """The leave request is under way on a connection that was there before."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.do(Close(timeout_s=5.0))
    play.let_callbacks_return()
    play.fail(ResolveTopics, FailureKind.AUTHENTICATION)
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_a_join_that_could_not_be_sent_leaves_no_member_behind() -> None:
    """The connection to the coordinator was refused, so the coordinator has not heard of the member."""
    play = Play.new().joining()
    play.fail(Heartbeat, FailureKind.AUTHENTICATION)
    assert (play.member.state, play.member.enrolled) == (S.FATAL, False)


def test_a_join_under_way_counts_when_another_connection_is_refused() -> None:
    """The coordinator may let the member in by it, so a close has a member to take out."""
    play = Play.new().joining()
    play.do(CoordinatorDoubted(BROKER))
    play.fail(FindCoordinator, FailureKind.AUTHENTICATION)
    assert (play.member.state, play.member.enrolled) == (S.FATAL, True)


def test_a_refused_connection_says_nothing_about_requests_of_an_earlier_membership() -> None:
    """The coordinator does not know the member any more, although the request that failed was sent when it did."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.advance(INTERVAL_S)
    play.do(CoordinatorDoubted(BROKER))
    play.answer(Heartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    play.let_callbacks_return()
    play.fail(ResolveTopics, FailureKind.AUTHENTICATION)
    assert (play.member.state, play.member.enrolled) == (S.FATAL, False)


def test_a_joiner_whose_broker_is_too_old_sends_no_leave_request() -> None:
    """Its join was not even sent."""
    play = Play.new(group_protocol="consumer").joining()
    play.fail(Heartbeat, FailureKind.UNSUPPORTED)
    assert (play.member.state, play.member.enrolled, play.open_sends()) == (S.FATAL, False, [])


def test_a_joiner_that_cannot_learn_who_holds_its_instance_id_releases_it() -> None:
    """The holder may be its former self, by a join whose answer was lost."""
    play = Play.new(group_instance_id="i", group_instance_id_conflict="fail").joining()
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID))
    play.answer(DescribeGroup, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    assert (play.member.state, play.heartbeat().epoch, play.heartbeat().member_id) == (S.FATAL, -2, "me")


# --- what the application does meanwhile -----------------------------------------------------------------------------


def test_a_new_subscription_before_the_leave_request_makes_it_superfluous() -> None:
    """The coordinator takes the new join for a new start of the same member: one rebalance and not two."""
    play = refused_for_good()
    play.do(Subscribe(frozenset({"orders"})))
    play.returns()
    assert (play.member.state, play.heartbeat().epoch, leave_requests(play)) == (S.JOINING, 0, [])


def test_a_new_subscription_during_the_leave_request_waits_for_it() -> None:
    """A join that overtakes the leave request would be undone by it."""
    play = refused_for_good()
    play.returns()
    play.do(Subscribe(frozenset({"orders"})))
    assert play.member.state is S.UNSUBSCRIBED
    play.answer(LeaveGroup, GroupLeft())
    assert (play.member.state, play.heartbeat().epoch) == (S.JOINING, 0)


def test_a_close_during_the_leave_request_has_its_own_time_and_reason() -> None:
    """The application waits for it."""
    play = refused_for_good()
    play.returns()
    play.do(Close(timeout_s=3.0, reason="done"))
    assert [leave.reason for leave in leave_requests(play)] == ["ended by an error: invalid regex", "done"]
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_a_close_after_the_leave_request_has_nothing_to_tell() -> None:
    """The coordinator does not know the member any more."""
    play = refused_for_good()
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    play.do(Close(timeout_s=3.0))
    assert play.member.closed is not None
    assert [step.outcome for step in play.member.closed.steps] == ["nothing to tell: not in the group"]


# --- classic groups --------------------------------------------------------------------------------------------------


def _leader(strategy: str = "range") -> ClassicPlay:
    play = ClassicPlay.new(partition_assignment_strategy=strategy)
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True, strategy=strategy))
    return play


def test_a_leader_whose_assignor_fails_leaves() -> None:
    """All other members wait for its plan; without the leave they wait for its session."""
    play = _leader("no-such-assignor")
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    (leave,) = leave_requests(play)
    assert (leave.member_id, leave.reason) == ("given", "ended by an error: assignor failed")


def test_a_leader_that_cannot_look_at_topics_leaves() -> None:
    """As one whose assignor fails."""
    play = _leader()
    play.fail(DescribeTopics, FailureKind.UNSUPPORTED)
    assert len(leave_requests(play)) == 1


def test_a_member_of_a_group_that_assigns_by_what_it_did_not_offer_leaves() -> None:
    """The group has let it in, and would wait for its sync."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(strategy="unheard-of"))
    assert len(leave_requests(play)) == 1


def test_a_joiner_that_was_given_an_id_gives_it_back() -> None:
    """A rebalance waits for every id that the coordinator gave out, until its session ends."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.answer(DescribeClassicGroup, GroupDescribed((), assignor="sticky"))
    assert [leave.member_id for leave in leave_requests(play)] == ["given"]


def test_a_joiner_without_an_id_sends_no_leave_request() -> None:
    """The coordinator refused it before it gave one out."""
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, Refused(Code.INVALID_SESSION_TIMEOUT))
    assert (play.member.state, play.member.enrolled, play.open_sends()) == (S.FATAL, False, [])


def test_a_full_group_knows_nothing_of_the_member_it_turned_away() -> None:
    """The coordinator forgets the id that it gave out."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, Refused(Code.GROUP_MAX_SIZE_REACHED))
    assert (play.member.state, play.member.enrolled, play.open_sends()) == (S.FATAL, False, [])


def test_a_classic_member_that_changes_to_a_bad_pattern_leaves() -> None:
    """It is found here, when the group rebalances for the new subscription."""
    play = ClassicPlay.new().stable(0)
    play.do(BAD_PATTERN)
    if play.member.survey is not None:
        play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    play.let_callbacks_return()
    assert [leave.reason for leave in leave_requests(play)] == ["ended by an error: invalid regex"]


def test_a_classic_member_whose_heartbeat_is_refused_for_good_leaves() -> None:
    """As under KIP-848."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.INVALID_REQUEST))
    play.returns()
    assert [leave.member_id for leave in leave_requests(play)] == ["given"]


def test_a_static_member_of_a_classic_group_is_waited_for() -> None:
    """That is what it is static for; its next incarnation takes its place, or a close with LEAVE gives it up."""
    play = ClassicPlay.new(group_instance_id="i").stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.INVALID_REQUEST))
    play.returns()
    assert (play.member.state, play.open_sends(), play.member.departure) == (S.FATAL, [], None)
    play.do(Close(timeout_s=5.0, mode=LeaveMode.LEAVE))
    assert len(leave_requests(play)) == 1


def test_a_static_joiner_of_a_group_with_another_strategy_was_never_in_it() -> None:
    """The coordinator compares strategies before it admits a member."""
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.answer(DescribeClassicGroup, GroupDescribed((), assignor="sticky"))
    assert (play.member.state, play.member.enrolled) == (S.FATAL, False)


def test_a_new_start_after_the_leave_request_is_accepted() -> None:
    """Nothing of the old membership is left in the member."""
    play = refused_for_good()
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    play.do(Subscribe(frozenset({"orders"})))
    play.answer(Heartbeat, accepted(5))
    assert (play.member.epoch, play.member.problem, play.member.enrolled) == (5, None, True)
