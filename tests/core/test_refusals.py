"""Every error code of every request: what the member makes of it."""

from __future__ import annotations

import pytest

from membership_client.core import policy
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackKind,
    CoordinatorDoubted,
    FailureKind,
    FindCoordinator,
    Heartbeat,
    MembershipDoubted,
    Rebalance,
    Refused,
    ResolveTopics,
    Subscribe,
)
from membership_client.errors import ProblemKind, error_for
from membership_client.partitions import Partitions
from membership_client.types import MemberState
from tests.core.play import BILLS, BROKER, INTERVAL_S, ORDERS, OTHER_BROKER, Play, accepted, in_state, orders

S = MemberState

AT_JOIN: dict[Code, tuple[MemberState, ProblemKind | None]] = {
    Code.UNKNOWN_SERVER_ERROR: (S.JOINING, ProblemKind.REJECTED),
    Code.REQUEST_TIMED_OUT: (S.JOINING, ProblemKind.REJECTED),
    Code.NETWORK_EXCEPTION: (S.JOINING, ProblemKind.REJECTED),
    Code.COORDINATOR_LOAD_IN_PROGRESS: (S.JOINING, ProblemKind.REJECTED),
    Code.COORDINATOR_NOT_AVAILABLE: (S.JOINING, ProblemKind.REJECTED),
    Code.NOT_COORDINATOR: (S.JOINING, ProblemKind.REJECTED),
    Code.THROTTLING_QUOTA_EXCEEDED: (S.JOINING, ProblemKind.REJECTED),
    Code.FENCED_MEMBER_EPOCH: (S.JOINING, None),
    Code.UNKNOWN_MEMBER_ID: (S.JOINING, None),
    Code.TOPIC_AUTHORIZATION_FAILED: (S.JOINING, ProblemKind.TOPIC_DENIED),
    Code.UNRELEASED_INSTANCE_ID: (S.JOINING, None),
    Code.FENCED_INSTANCE_ID: (S.FENCED, None),
    Code.GROUP_MAX_SIZE_REACHED: (S.FATAL, ProblemKind.GROUP_FULL),
    Code.GROUP_AUTHORIZATION_FAILED: (S.FATAL, ProblemKind.GROUP_DENIED),
    Code.CLUSTER_AUTHORIZATION_FAILED: (S.FATAL, ProblemKind.CLUSTER_DENIED),
    Code.GROUP_ID_NOT_FOUND: (S.FATAL, ProblemKind.GROUP_TYPE),
    Code.INVALID_GROUP_ID: (S.FATAL, ProblemKind.UNEXPECTED),
    Code.INVALID_REQUEST: (S.FATAL, ProblemKind.UNEXPECTED),
    Code.INVALID_REGULAR_EXPRESSION: (S.FATAL, ProblemKind.INVALID_REGEX),
    Code.UNSUPPORTED_ASSIGNOR: (S.FATAL, ProblemKind.UNSUPPORTED_ASSIGNOR),
    Code.UNSUPPORTED_VERSION: (S.FATAL, ProblemKind.BROKER_TOO_OLD),
}


@pytest.mark.parametrize("code", policy.HEARTBEAT)
def test_each_code_at_a_join(code: Code) -> None:
    """The table is complete, and each row does what it says."""
    play = Play.new(group_protocol="consumer").joining()
    play.answer(Heartbeat, Refused(code, "because"))
    kind = play.member.problem.kind if play.member.problem else None
    assert (play.member.state, kind) == AT_JOIN[code]


@pytest.mark.parametrize("code", policy.HEARTBEAT)
def test_each_code_in_the_group_ends_in_a_known_way(code: Code) -> None:
    """A member of the group keeps its place, is fenced, or ends; and says which."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(code, "because"))
    action = policy.HEARTBEAT[code]
    fences = {
        policy.Reaction.FENCE,
        policy.Reaction.FENCE_UNKNOWN,
        policy.Reaction.INSTANCE_ID_HELD,
        policy.Reaction.NO_GROUP,
        policy.Reaction.SUPERSEDED,
        policy.Reaction.FULL,
    }
    expected = S.FENCED if action in fences else S.FATAL if action is policy.Reaction.FATAL else S.STABLE
    assert play.member.state is expected


@pytest.mark.parametrize("request_type", [Heartbeat, FindCoordinator])
def test_an_unknown_code_is_fatal_with_its_number(request_type: type) -> None:
    """A request that is refused for an unknown reason must not be repeated for ever in silence."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    if request_type is Heartbeat:
        play.find_coordinator()
    play.answer(request_type, Refused(4711))
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    assert "4711" in play.member.problem.detail


@pytest.mark.parametrize("code", [code for code in Code if code])
def test_each_code_at_the_coordinator_search(code: Code) -> None:
    """Denied access is the same fatal error here as on a heartbeat; passing trouble is retried with a backoff."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    play.answer(FindCoordinator, Refused(code))
    retried = policy.FIND_COORDINATOR.get(code) is policy.Reaction.RETRY
    assert play.member.state is (S.JOINING if retried else S.FATAL)
    assert play.member.lookup is None
    play.advance(2.0)
    assert (play.member.lookup is not None) == retried


def test_joins_back_off_too() -> None:
    """Java repeats a refused join at round-trip pace; a loading coordinator does not need that."""
    play = Play.new().joining()
    sent = len(play.heartbeats())
    for _ in range(5):
        play.answer(Heartbeat, Refused(14))
        assert play.member.dialogue is None
        play.advance(2.0)
    assert len(play.heartbeats()) == sent + 5
    assert play.member.dialogue_backoff.failures == 5


def test_success_ends_the_backoff_and_the_problem() -> None:
    """Nothing of an old trouble stays."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(14))
    assert play.member.problem is not None
    play.advance(1.0)
    play.answer(Heartbeat, accepted(2))
    assert (play.member.problem, play.member.dialogue_backoff.failures) == (None, 0)


def test_a_denied_topic_at_a_join_heals_when_granted() -> None:
    """The whole join is repeated, ever less often."""
    play = Play.new().joining()
    play.answer(Heartbeat, Refused(29, "orders"))
    play.advance(INTERVAL_S)
    assert play.heartbeat().topics == ("orders",)
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert play.member.problem is None


def test_a_denied_topic_does_not_cost_the_membership() -> None:
    """A heartbeat that names it never reaches the coordinator: it goes on without, or the session would end."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "secret"})))
    play.answer(Heartbeat, Refused(29, "secret"))
    for _ in range(200):
        play.advance(0.5)
        if play.member.dialogue:
            named = play.heartbeat().topics is not None
            play.answer(Heartbeat, Refused(29, "secret") if named else accepted(2))
    unnamed = [beat for beat in play.heartbeats() if beat.topics is None]
    assert len(unnamed) >= 15
    assert 5 <= len(play.heartbeats()) - len(unnamed) <= 30
    assert (play.member.state, play.member.owned) == (S.STABLE, orders(0))
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.TOPIC_DENIED


def test_a_denied_topic_heals_when_granted() -> None:
    """The subscription is stated again by itself, and the problem is over."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "secret"})))
    play.answer(Heartbeat, Refused(29, "secret"))
    while play.member.problem is not None:
        play.advance(0.5)
        if play.member.dialogue:
            play.answer(Heartbeat, accepted(2))
    assert play.member.accepted is not None
    assert play.member.accepted.subscription == Subscribe(frozenset({"orders", "secret"}))


def test_access_that_is_taken_away_does_not_cost_the_membership() -> None:
    """After a failure the names would be said again and denied; what we own is said without them."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(14))
    play.advance(1.0)
    play.answer(Heartbeat, Refused(29, "orders"))
    assert (play.heartbeat().topics, play.heartbeat().owned) == (None, orders(0))


def test_another_subscription_ends_a_denial() -> None:
    """The user's correction is stated at once."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"secret"})))
    play.answer(Heartbeat, Refused(29, "secret"))
    play.answer(Heartbeat, accepted(2)) if play.member.dialogue else None
    play.do(Subscribe(frozenset({"orders", "bills"})))
    assert play.heartbeat().topics == ("bills", "orders")


def test_a_group_that_vanished_is_joined_again() -> None:
    """The last member's session ended and the group was deleted: to us that is a fence, not a wrong type."""
    play = Play.new().stable()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(69))
    assert play.member.state is S.JOINING


def test_a_full_group_is_fatal_with_the_brokers_text() -> None:
    """The limit is in the broker's message, and so in ours."""
    play = Play.new().joining()
    play.answer(Heartbeat, Refused(81, "the maximum capacity of 5 members"))
    assert play.member.problem is not None
    text = str(error_for(play.member.problem, play.member.identity))
    assert "5 members" in text
    assert "group.consumer.max.size" in text


def test_a_full_group_can_be_waited_for() -> None:
    """At the pace the user asked for."""
    play = Play.new(retry_when_full_s=30.0).joining()
    play.answer(Heartbeat, Refused(81))
    assert play.member.state is S.JOINING
    play.advance(29.0)
    assert play.member.dialogue is None
    play.advance(2.0)
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert play.member.problem is None


@pytest.mark.parametrize("code", [81, 30, 128, 69, 35])
def test_a_new_subscription_leaves_fatal_where_the_cause_allows_it(code: int) -> None:
    """The group was enlarged, the ACL granted, the pattern corrected."""
    play = Play.new(group_protocol="consumer").joining()
    play.answer(Heartbeat, Refused(code))
    assert play.member.state is S.FATAL
    play.do(Subscribe(frozenset({"orders"})))
    assert (play.member.state, play.member.problem, play.heartbeat().epoch) == (S.JOINING, None, 0)


def test_leaving_fatal_waits_for_the_lost_callback() -> None:
    """Nothing new is assigned before the old is gone."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(30))
    play.do(Subscribe(frozenset({"orders"})))
    assert play.member.state is S.UNSUBSCRIBED
    play.returns()
    assert play.member.state is S.JOINING


def test_nothing_is_sent_in_fatal() -> None:
    """Silence until the user does something."""
    play = in_state(S.FATAL)
    sent = len(play.sends())
    play.advance(3600)
    assert len(play.sends()) == sent


def test_what_a_callback_brought_after_the_end_is_lost_before_a_new_start() -> None:
    """A subscription that came while the callback still ran once left the member stuck with what it brought."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(30))
    play.do(Subscribe(frozenset({"orders"})))
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    play.returns()
    assert play.member.state is S.JOINING


def test_the_table_of_codes_at_a_join_is_complete() -> None:
    """A new row of the policy needs an expectation here."""
    assert AT_JOIN.keys() == policy.HEARTBEAT.keys()


def test_a_doubted_coordinator_is_looked_for_at_once() -> None:
    """A commit on the same connection that learns of the wrong broker saves the member a refused heartbeat."""
    play = Play.new().stable(0)
    play.do(CoordinatorDoubted(OTHER_BROKER))
    assert play.member.coordinator == BROKER
    play.do(CoordinatorDoubted(BROKER))
    play.find_coordinator(OTHER_BROKER)
    assert play.heartbeat().owned == orders(0)


def test_a_doubted_membership_is_asked_about_at_once() -> None:
    """After a commit that was refused as of no member, the member once kept its partitions until the next heartbeat."""
    play = Play.new().stable(0)
    play.do(MembershipDoubted())
    play.answer(Heartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    assert play.member.state is S.FENCED


def test_the_same_problem_again_is_another_problem() -> None:
    """poll() raises each problem once, and tells problems apart by their numbers."""
    play = Play.new().joining()
    numbers = set()
    for _ in range(3):
        play.answer(Heartbeat, Refused(14))
        assert play.member.problem is not None
        numbers.add(play.member.problem.number)
        assert play.member.ids >= play.member.problem.number
        play.advance(2.0)
    assert len(numbers) == 3


@pytest.mark.parametrize("code", [Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE])
def test_a_broker_that_is_not_the_coordinator_is_not_asked_again(code: Code) -> None:
    """The group has moved: asked on, the old broker would refuse until the session ends."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(code))
    play.find_coordinator(OTHER_BROKER)
    play.advance(1.0)
    assert play.open(Heartbeat).to == OTHER_BROKER


def test_a_broker_that_sends_its_clients_back_is_not_asked_again() -> None:
    """KIP-1102: a cluster that moves answers Metadata with REBOOTSTRAP_REQUIRED; bootstrap servers know where it is now."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.answer(ResolveTopics, Refused(Code.REBOOTSTRAP_REQUIRED))
    assert play.open(FindCoordinator).to is None
    play.find_coordinator(OTHER_BROKER)
    play.advance(1.0)
    assert play.open(ResolveTopics).to == OTHER_BROKER


@pytest.mark.parametrize("code", [Code.UNKNOWN_SERVER_ERROR, Code.REQUEST_TIMED_OUT])
def test_another_refusal_of_names_is_no_reason_to_look_for_the_coordinator(code: Code) -> None:
    """The same broker is asked again, a moment later."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.answer(ResolveTopics, Refused(code))
    play.advance(1.0)
    assert play.open(ResolveTopics).to == BROKER


def test_what_was_under_way_when_a_member_ended_is_not_answered_to() -> None:
    """A heartbeat that is accepted after a password was refused does not bring the member back."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.advance(INTERVAL_S)
    beat = play.open(Heartbeat)
    play.fail(ResolveTopics, FailureKind.AUTHENTICATION)
    play.let_callbacks_return()
    ended = play.member
    assert ended.state is S.FATAL
    play.do(Answered(beat.request_id, accepted(4)))
    assert play.member == ended


def test_a_coordinator_that_was_found_is_looked_for_quickly_the_next_time() -> None:
    """Failures of an earlier search say nothing of the next one."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    for _ in range(5):
        play.fail(FindCoordinator)
        play.advance(5.0)
    play.find_coordinator()
    play.do(CoordinatorDoubted(BROKER))
    play.fail(FindCoordinator)
    play.advance(0.15)
    assert play.member.lookup is not None


def test_a_denied_topic_is_named_and_several_are_only_suspected() -> None:
    """A heartbeat is refused as a whole: with several topics it is not known which one is denied."""
    texts = []
    for topics in ({"orders"}, {"orders", "bills"}):
        play = Play.new().joining(*topics)
        play.answer(Heartbeat, Refused(29))
        assert play.member.problem is not None
        texts.append(play.member.problem.detail)
    assert "on topic orders is not granted" in texts[0]
    assert "one or more of the topics bills, orders" in texts[1]


def test_a_refusal_that_is_repeated_says_what_the_broker_said() -> None:
    """The name of the code, and the broker's words where it has some."""
    play = Play.new().joining()
    play.answer(Heartbeat, Refused(Code.COORDINATOR_LOAD_IN_PROGRESS, "loading"))
    assert play.member.problem is not None
    assert play.member.problem.detail == "COORDINATOR_LOAD_IN_PROGRESS: loading"


def test_a_denied_join_is_repeated_after_a_pause() -> None:
    """Access is not granted within a round trip."""
    play = Play.new().joining("secret")
    play.answer(Heartbeat, Refused(29, "secret"))
    assert play.member.dialogue is None
    play.advance(1.0)
    assert play.heartbeat().topics == ("secret",)


def test_a_topic_that_is_still_denied_stays_the_problem() -> None:
    """Heartbeats without the names are accepted meanwhile, which says nothing about the topic."""
    play = Play.new(retry_backoff_max_ms=60_000, retry_backoff_ms=60_000).stable(0)
    play.do(Rebalance())
    play.answer(Heartbeat, Refused(29, "orders"))
    play.answer(Heartbeat, accepted(2))
    assert play.member.denied_until is not None
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.TOPIC_DENIED


def test_a_topic_that_is_denied_again_is_asked_for_as_soon_as_the_first_time() -> None:
    """Pauses grow while access is denied; once it was granted they begin anew."""
    play, waits = Play.new().stable(0), list[float]()
    for _ in range(3):
        play.do(Rebalance())
        play.answer(Heartbeat, Refused(29, "orders"))
        assert play.member.denied_until is not None
        waits.append(play.member.denied_until - play.now)
        play.answer(Heartbeat, accepted(2))
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
        assert play.member.problem is None
    assert waits == pytest.approx([waits[0]] * 3)


def test_a_member_that_is_fenced_while_a_topic_is_denied_joins_with_all_its_topics() -> None:
    """A stranger must state its subscription, whatever was denied to the member that it was."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "secret"})))
    play.answer(Heartbeat, Refused(29, "secret"))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.let_callbacks_return()
    assert play.heartbeat().topics == ("orders", "secret")


def test_fences_before_the_end_do_not_slow_down_a_new_start() -> None:
    """The first fence after a new subscription is followed by a join at once, as for a new member."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.let_callbacks_return()
    play.answer(Heartbeat, Refused(30))
    assert play.member.state is S.FATAL
    play.do(Subscribe(frozenset({"orders"})))
    play.answer(Heartbeat, Refused(25))
    assert (play.member.state, play.heartbeat().epoch) == (S.JOINING, 0)


def test_the_newest_trouble_with_the_coordinator_is_shown() -> None:
    """It loaded first, and cannot be reached now: the operator must look at the network, and not at the broker's log."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(14))
    play.advance(1.0)
    play.fail(Heartbeat)
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.UNREACHABLE
