"""The fake coordinator, fact by fact, as Kafka 4.3.1 has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    DescribeGroup,
    GroupDescribed,
    GroupLeft,
    Heartbeat,
    HeartbeatAccepted,
    LeaveGroup,
    Refused,
    Request,
    ResolveTopics,
    Response,
    TopicsResolved,
)
from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import CoordinatorSettings

ORDERS = UUID(int=1)
BILLS = UUID(int=2)
AT_ONCE = CoordinatorSettings(assignment_interval_s=0.0)


def orders(*numbers: int) -> Partitions:
    return Partitions.of({ORDERS: numbers})


def accepted(epoch: int, assignment: Partitions | None = None) -> HeartbeatAccepted:
    return HeartbeatAccepted(epoch=epoch, interval_s=5.0, assignment=assignment)


@dataclass
class Talk:
    """Requests to the coordinator of six partitions of orders and two of bills."""

    settings: CoordinatorSettings = AT_ONCE
    now: float = 0.0
    cluster: FakeCluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = FakeCluster({"orders": 6, "bills": 2}, self.settings)

    def ask(self, request: Request) -> Response:
        return self.cluster.handle(self.cluster.nodes[0], request, self.now)

    def join(self, who: str, *topics: str, instance: str | None = None, regex: str | None = None) -> Response:
        names = () if regex else topics or ("orders",)
        request = self.beat_request(who, 0, instance=instance, owned=NOTHING)
        return self.ask(replace(request, rebalance_timeout_s=60.0, topics=names, regex=regex or ""))

    def beat(self, who: str, epoch: int, *, owned: Partitions | None = None, instance: str | None = None) -> Response:
        return self.ask(self.beat_request(who, epoch, owned=owned, instance=instance))

    def beat_request(
        self, who: str, epoch: int, *, owned: Partitions | None = None, instance: str | None = None
    ) -> Heartbeat:
        return Heartbeat(group_id="g", member_id=who, epoch=epoch, owned=owned, instance_id=instance)

    def two_members(self) -> Talk:
        """The first has the first half of orders, the second the other, both at epoch 3."""
        self.join("a")
        self.join("b")
        self.beat("a", 2)
        self.beat("a", 2, owned=orders(0, 1, 2))
        assert self.beat("b", 3) == accepted(3, orders(3, 4, 5))
        return self


def code(response: Response) -> int:
    assert isinstance(response, Refused)
    return response.code


# --- reconciliation --------------------------------------------------------------------------------------------------


def test_a_group_starts_at_epoch_one_so_the_first_member_sees_two() -> None:
    """The first join bumps the group and is answered with everything."""
    assert Talk().join("a") == accepted(2, orders(0, 1, 2, 3, 4, 5))


def test_what_must_be_given_up_is_told_at_the_old_epoch() -> None:
    """The set shrinks first; the epoch follows when the list without the rest arrives, and only then."""
    talk = Talk()
    talk.join("a")
    assert talk.join("b") == accepted(3, NOTHING)
    assert talk.beat("a", 2) == accepted(2, orders(0, 1, 2))
    assert talk.beat("a", 2) == accepted(2)
    assert talk.beat("a", 2, owned=orders(0, 1, 2, 3)) == accepted(2)
    assert talk.beat("b", 3) == accepted(3)
    assert talk.beat("a", 2, owned=orders(0, 1, 2)) == accepted(3)
    assert talk.beat("b", 3) == accepted(3, orders(3, 4, 5))


def test_a_list_without_a_partition_gives_it_up_even_before_it_is_asked_for() -> None:
    """Whatever the list lacks is free at once: a member must list what it is just taking."""
    talk = Talk()
    talk.join("a")
    talk.join("b")
    assert talk.beat("a", 2, owned=NOTHING) == accepted(3, orders(0, 1, 2))
    assert talk.beat("b", 3) == accepted(3, orders(3, 4, 5))


def test_a_full_request_is_answered_in_full() -> None:
    """Timeout, names and owned list together bring the assignment again; any two of them do not."""
    talk = Talk()
    talk.join("a")
    full = replace(talk.beat_request("a", 2, owned=orders(0)), rebalance_timeout_s=60.0, topics=("orders",), regex="")
    assert talk.ask(full) == accepted(2, orders(0, 1, 2, 3, 4, 5))
    assert talk.ask(replace(full, rebalance_timeout_s=None)) == accepted(2)


def test_an_unsubscribed_topic_goes_at_once() -> None:
    """Without waiting for a new target, at the old epoch."""
    talk = Talk(CoordinatorSettings(assignment_interval_s=15.0))
    talk.join("a", "orders", "bills")
    change = replace(talk.beat_request("a", 2), topics=("orders",), regex="")
    assert talk.ask(change) == accepted(2, orders(0, 1, 2, 3, 4, 5))


def test_a_grown_topic_is_noticed_by_the_next_heartbeat() -> None:
    """No clock is involved."""
    talk = Talk()
    talk.join("a")
    talk.cluster.topics.grow("orders", 7)
    assert talk.beat("a", 2) == accepted(3, orders(0, 1, 2, 3, 4, 5, 6))


def test_a_deleted_topic_is_taken_away_and_a_new_one_has_another_id() -> None:
    """Names come back, ids do not."""
    talk = Talk()
    talk.join("a")
    talk.cluster.topics.delete("orders")
    assert talk.beat("a", 2) == accepted(2, NOTHING)
    assert talk.beat("a", 2, owned=NOTHING) == accepted(3)
    created = talk.cluster.topics.create("orders", 1)
    assert talk.beat("a", 3) == accepted(4, Partitions.of({created: [0]}))


# --- batching --------------------------------------------------------------------------------------------------------


def test_a_joiner_inside_the_interval_gets_nothing_at_the_last_target_epoch() -> None:
    """And the computation waits for a heartbeat of any member after the interval."""
    talk = Talk(CoordinatorSettings(assignment_interval_s=1.0))
    talk.join("a")
    talk.now = 0.5
    assert talk.join("b") == accepted(2, NOTHING)
    talk.now = 0.9
    assert talk.beat("b", 2) == accepted(2)
    talk.now = 1.0
    assert talk.beat("b", 2) == accepted(3)
    assert talk.beat("a", 2) == accepted(2, orders(0, 1, 2))


# --- epochs ----------------------------------------------------------------------------------------------------------


def test_the_last_epoch_is_accepted_with_a_proper_owned_list() -> None:
    """A lost answer costs nothing if everything is said again."""
    talk = Talk().two_members()
    assert talk.beat("a", 2, owned=orders(0, 1, 2)) == accepted(3)
    assert code(talk.beat("a", 2)) == Code.FENCED_MEMBER_EPOCH
    assert code(talk.beat("a", 2, owned=orders(0, 5))) == Code.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize("epoch", [1, 4, 99])
def test_other_epochs_are_fenced(epoch: int) -> None:
    """Newer than known, or older than the last one."""
    assert code(Talk().two_members().beat("a", epoch, owned=NOTHING)) == Code.FENCED_MEMBER_EPOCH


def test_a_known_dynamic_member_may_join_again_in_place() -> None:
    """Since 4.2; before, it was fenced until its session ended."""
    talk = Talk().two_members()
    assert talk.join("a") == accepted(3, orders(0, 1, 2))
    talk.cluster.groups.settings = replace(AT_ONCE, rejoins_in_place=False)
    assert code(talk.join("a")) == Code.FENCED_MEMBER_EPOCH


def test_strangers_and_missing_groups_are_told_apart() -> None:
    """An epoch without a join."""
    talk = Talk()
    assert code(talk.beat("a", 2)) == Code.GROUP_ID_NOT_FOUND
    talk.join("a")
    assert code(talk.beat("b", 2)) == Code.UNKNOWN_MEMBER_ID


# --- what is not valid -----------------------------------------------------------------------------------------------

JOIN = Heartbeat(group_id="g", member_id="a", epoch=0, rebalance_timeout_s=60.0, topics=("orders",), owned=NOTHING)


@pytest.mark.parametrize(
    "request_",
    [
        replace(JOIN, member_id=""),
        replace(JOIN, group_id=""),
        replace(JOIN, instance_id=""),
        replace(JOIN, rack_id=""),
        replace(JOIN, rebalance_timeout_s=None),
        replace(JOIN, owned=None),
        replace(JOIN, owned=orders(0)),
        replace(JOIN, topics=None),
        Heartbeat(group_id="g", member_id="a", epoch=-2),
        Heartbeat(group_id="g", member_id="a", epoch=-3, instance_id="i"),
    ],
)
def test_an_invalid_request_is_refused_and_changes_nothing(request_: Heartbeat) -> None:
    """Validation comes before everything else."""
    talk = Talk()
    assert code(talk.ask(request_)) == Code.INVALID_REQUEST
    assert talk.cluster.groups.group("g") is None


def test_an_unknown_assignor_and_a_broken_pattern_have_codes_of_their_own() -> None:
    """And leave no member behind."""
    talk = Talk()
    assert code(talk.ask(replace(JOIN, assignor="mine"))) == Code.UNSUPPORTED_ASSIGNOR
    assert code(talk.join("a", regex="a(")) == Code.INVALID_REGULAR_EXPRESSION
    assert talk.cluster.groups.group("g") is None


# --- patterns --------------------------------------------------------------------------------------------------------


def test_a_pattern_is_evaluated_in_the_background() -> None:
    """The joiner gets nothing, at epoch 1; what matches comes with a later heartbeat."""
    talk = Talk()
    assert talk.join("a", regex="or.*") == accepted(1, NOTHING)
    talk.now = 0.1
    assert talk.beat("a", 1) == accepted(2, orders(0, 1, 2, 3, 4, 5))


def test_a_second_pattern_waits_for_the_next_evaluation() -> None:
    """Patterns are evaluated together, at most every ten seconds, and only when a member sends a heartbeat."""
    talk = Talk()
    talk.join("a", regex="or.*")
    talk.now = 0.1
    talk.beat("a", 1)
    assert talk.join("b", regex="bi.*") == accepted(2, NOTHING)
    talk.now = 9.0
    assert talk.beat("b", 2) == accepted(2)
    talk.now = 10.2
    assert talk.beat("b", 2) == accepted(2)
    talk.now = 10.3
    assert talk.beat("b", 2) == accepted(3, Partitions.of({BILLS: [0, 1]}))


# --- clocks ----------------------------------------------------------------------------------------------------------


def test_a_silent_member_is_expelled_when_its_session_ends() -> None:
    """Its partitions go to the others with their next heartbeat."""
    talk = Talk().two_members()
    talk.now = 44.0
    talk.beat("a", 3)
    talk.now = 45.0
    assert talk.beat("a", 3) == accepted(4, orders(0, 1, 2, 3, 4, 5))
    assert code(talk.beat("b", 3)) == Code.UNKNOWN_MEMBER_ID


def test_a_member_that_does_not_give_up_is_expelled_after_its_rebalance_timeout() -> None:
    """Heartbeats do not help; only the list without the partitions does."""
    talk = Talk()
    talk.join("a")
    talk.join("b")
    for second in range(60):
        talk.now = float(second)
        assert isinstance(talk.beat("a", 2, owned=orders(0, 1, 2, 3)), HeartbeatAccepted)
    talk.now = 60.0
    assert code(talk.beat("a", 2, owned=orders(0, 1, 2, 3))) == Code.UNKNOWN_MEMBER_ID


def test_a_move_gives_all_members_their_full_time_again() -> None:
    """The new coordinator knows no old clocks."""
    talk = Talk().two_members()
    talk.now = 40.0
    talk.cluster.move(talk.cluster.nodes[1], talk.now, loading_s=2.0)
    assert code(talk.beat("a", 3)) == Code.NOT_COORDINATOR
    heartbeat = talk.beat_request("a", 3)
    assert code(talk.cluster.handle(talk.cluster.nodes[1], heartbeat, 41.0)) == Code.COORDINATOR_LOAD_IN_PROGRESS
    assert talk.cluster.handle(talk.cluster.nodes[1], heartbeat, 86.0) == accepted(3)


# --- static members --------------------------------------------------------------------------------------------------


def test_a_static_member_returns_to_its_place() -> None:
    """Any member id will do: same partitions, same epoch, and no other member notices."""
    talk = Talk()
    talk.join("a1", instance="i")
    talk.join("b")
    assert talk.beat("a1", -2, instance="i") == HeartbeatAccepted(epoch=-2, interval_s=0.0)
    assert talk.join("a2", instance="i") == accepted(3, orders(0, 1, 2))
    assert talk.beat("b", 3) == accepted(3, orders(3, 4, 5))


def test_time_to_return_runs_from_the_last_heartbeat() -> None:
    """Leaving temporarily does not start the session anew."""
    talk = Talk()
    talk.join("a1", instance="i")
    talk.now = 40.0
    talk.beat("a1", -2, instance="i")
    talk.now = 45.0
    assert talk.join("a2", instance="i") == accepted(4, orders(0, 1, 2, 3, 4, 5))


def test_a_held_instance_id_is_refused_even_to_its_holder() -> None:
    """The answer names the holder, and does not notice that it is the one who asks."""
    talk = Talk()
    talk.join("a1", instance="i")
    for who in ("a1", "a2"):
        refused = talk.join(who, instance="i")
        assert code(refused) == Code.UNRELEASED_INSTANCE_ID
        assert isinstance(refused, Refused)
        assert refused.message is not None
        assert "owned by a1" in refused.message


def test_a_temporary_leave_on_behalf_of_the_holder_is_accepted() -> None:
    """So a successor can take over; the predecessor's next heartbeat says by whom it was fenced."""
    talk = Talk()
    talk.join("a1", instance="i")
    talk.beat("a1", -2, instance="i")
    talk.join("a2", instance="i")
    assert code(talk.beat("a1", 2, instance="i")) == Code.FENCED_INSTANCE_ID
    assert code(talk.beat("a1", -2, instance="i")) == Code.FENCED_INSTANCE_ID
    assert code(talk.beat("a1", -2, instance="j")) == Code.UNKNOWN_MEMBER_ID


def test_a_permanent_leave_frees_the_instance_id_and_the_partitions() -> None:
    """As for any other member."""
    talk = Talk()
    talk.join("a", instance="i")
    assert talk.beat("a", -1, instance="i") == HeartbeatAccepted(epoch=-1, interval_s=0.0)
    assert talk.join("b") == accepted(4, orders(0, 1, 2, 3, 4, 5))


# --- size, leaving, describing ---------------------------------------------------------------------------------------


def test_a_full_group_refuses_members_that_it_does_not_know() -> None:
    """Joiners, expelled members, and on 4.3.1 even a static member that returns under another id."""
    talk = Talk(replace(AT_ONCE, max_size=2))
    talk.join("a")
    talk.join("b1", instance="i")
    talk.beat("b1", -2, instance="i")
    assert code(talk.join("c")) == Code.GROUP_MAX_SIZE_REACHED
    assert code(talk.beat("c", 3)) == Code.GROUP_MAX_SIZE_REACHED
    assert code(talk.join("b2", instance="i")) == Code.GROUP_MAX_SIZE_REACHED
    talk.cluster.groups.settings = replace(talk.cluster.groups.settings, exempts_instances=True)
    assert isinstance(talk.join("b2", instance="i"), HeartbeatAccepted)


def test_a_leave_with_a_reason_is_taken_and_logged() -> None:
    """LeaveGroup works for consumer-protocol members; its errors carry no message."""
    talk = Talk()
    leave = LeaveGroup(group_id="g", member_id="a", instance_id=None, reason="enough")
    assert talk.ask(leave) == Refused(Code.UNKNOWN_MEMBER_ID)
    talk.join("a")
    assert talk.ask(leave) == GroupLeft()
    assert talk.ask(leave) == Refused(Code.UNKNOWN_MEMBER_ID)
    assert talk.cluster.groups.log == [(0.0, "a left; client reason: enough")]


def test_a_description_names_all_members() -> None:
    """Members that left temporarily, too; a group that no member ever joined is not found."""
    talk = Talk()
    assert code(talk.ask(DescribeGroup(group_id="g"))) == Code.GROUP_ID_NOT_FOUND
    talk.join("a", instance="i")
    talk.beat("a", -2, instance="i")
    described = talk.ask(DescribeGroup(group_id="g"))
    assert isinstance(described, GroupDescribed)
    assert [(member.member_id, member.instance_id) for member in described.members] == [("a", "i")]


def test_names_are_told_of_topics_that_are_known() -> None:
    """The others are missing from the answer."""
    talk = Talk()
    assert talk.ask(ResolveTopics(topic_ids=frozenset({ORDERS, UUID(int=9)}))) == TopicsResolved({ORDERS: "orders"})
