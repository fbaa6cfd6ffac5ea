"""Every event in every state, and long random lives: no event may break a member, ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackDelayed,
    CallbackReturned,
    Close,
    CoordinatorDoubted,
    CoordinatorFound,
    Event,
    Failed,
    FailureKind,
    GroupDescribed,
    GroupLeft,
    HeartbeatAccepted,
    KeeperReported,
    MemberDescription,
    MembershipDoubted,
    Polled,
    Rebalance,
    Refused,
    Response,
    SessionTimeoutDescribed,
    SiblingChange,
    SiblingChanged,
    Subscribe,
    Tick,
    TopicsDescribed,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.core.machine import _HANDLERS, deadline, rules_of
from membership_client.core.member import TRANSITIONS
from membership_client.partitions import Partitions
from membership_client.types import LeaveMode, MemberState
from tests.core.classic_play import CLASSIC_RESPONSES, in_classic_state
from tests.core.play import BILLS, BROKER, NAMES, ORDERS, Play, in_state, orders, reaches

RESPONSES: list[Response] = [
    CoordinatorFound(BROKER),
    HeartbeatAccepted(epoch=3, interval_s=5.0, assignment=orders(0, 7)),
    HeartbeatAccepted(epoch=0, interval_s=5.0),
    HeartbeatAccepted(epoch=-5, interval_s=-1.0),
    HeartbeatAccepted(epoch=3, interval_s=0.0, assignment=Partitions()),
    GroupLeft(),
    TopicsResolved({}),
    TopicsResolved(NAMES),
    TopicsDescribed({}, unknown=frozenset({"orders", "bills"})),
    GroupDescribed(()),
    GroupDescribed((MemberDescription(member_id="other", instance_id="i", client_id="c", host="h"),)),
    SessionTimeoutDescribed(45.0),
    SessionTimeoutDescribed(-1.0),
    *CLASSIC_RESPONSES,
    *(Refused(code, "said so") for code in Code if code),
    Refused(9999),
]


def sample_events(play: Play) -> list[Event]:
    """One of each kind of event, aimed at whatever is under way."""
    ids = [send.request_id for send in play.open_sends()] + [424242]
    call_id = play.member.call.call_id if play.member.call else 424242
    return [
        Subscribe(frozenset({"orders", "bills"})),
        Subscribe(regex="o.*"),
        Unsubscribe(),
        *(Close(mode=mode, timeout_s=3.0) for mode in LeaveMode),
        Rebalance(reason="why not"),
        Polled(play.now),
        Tick(),
        CoordinatorDoubted(BROKER),
        MembershipDoubted(),
        KeeperReported(play.member.epoch, play.member.epoch + 1, play.now),
        KeeperReported(4242, 4242),
        *(SiblingChanged(change, play.member.epoch + 1) for change in SiblingChange),
        CallbackDelayed(call_id, play.now, "offsets"),
        CallbackReturned(call_id),
        CallbackReturned(call_id, "ValueError"),
        CallbackReturned(424242),
        *(Answered(i, response, throttle_s=0.5) for i in ids for response in RESPONSES),
        *(Failed(i, kind, "broke") for i in ids for kind in FailureKind),
    ]


def feed_one_at_a_time(play: Play) -> None:
    """Gives each sample event to a copy of the member, and lets time pass."""
    for event in sample_events(play):
        copy = replace(play, effects=list(play.effects))
        copy.do(event)
        copy.advance(30)


@pytest.mark.parametrize("instance_id", [None, "i"])
@pytest.mark.parametrize("state", MemberState)
def test_every_event_is_legal_in_every_state(state: MemberState, instance_id: str | None) -> None:
    """Whatever arrives in whatever state, the member ends in a legal state that does not spin."""
    feed_one_at_a_time(in_state(state, group_instance_id=instance_id))


@pytest.mark.parametrize(("instance_id", "strategy"), [(None, "cooperative-sticky"), ("i", "range")])
@pytest.mark.parametrize("state", MemberState)
def test_every_event_is_legal_in_every_state_of_a_classic_member(
    state: MemberState, instance_id: str | None, strategy: str
) -> None:
    """As under KIP-848, for members that keep their partitions while they join and for those that do not."""
    settings = {"group_instance_id": instance_id, "partition_assignment_strategy": strategy}
    feed_one_at_a_time(in_classic_state(state, **settings))


def test_every_event_type_has_a_handler() -> None:
    """A new event type cannot be forgotten in the dispatch table."""
    assert set(_HANDLERS) == set(Event.__args__)


@pytest.mark.parametrize("state", MemberState)
def test_every_state_can_be_reached_and_left(state: MemberState) -> None:
    """No state is an island: each can be reached from the start, and from each a closed member can be reached."""
    assert reaches(MemberState.UNSUBSCRIBED, state)
    assert reaches(state, MemberState.UNSUBSCRIBED)


@pytest.mark.parametrize("way", [in_state, in_classic_state])
@pytest.mark.parametrize("state", MemberState)
def test_close_ends_from_every_state_within_its_timeout(state: MemberState, way: Callable[..., Play]) -> None:
    """A close always comes to its end, even when no callback returns and no broker answers."""
    play = way(state)
    play.do(Close(timeout_s=2.0))
    play.advance(2.0)
    assert play.member.closed is not None
    assert deadline(play.member) is None


def test_a_closed_member_ignores_everything() -> None:
    """After the end nothing changes any more."""
    play = in_state(MemberState.STABLE)
    play.do(Close(timeout_s=0.1))
    play.advance(1.0)
    closed = play.member
    for event in sample_events(play):
        assert play.do(event) == []
    assert play.member is closed


def test_the_transition_table_is_used_whole() -> None:
    """Every transition in the table starts and ends in a state that exists, and says why in words."""
    assert all(a is not b and why for (a, b), why in TRANSITIONS.items())


moves = st.lists(
    st.tuples(st.integers(0, 200), st.floats(0.0, 20.0, allow_nan=False)),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    moves=moves,
    static=st.booleans(),
    policy=st.sampled_from(["raise", "leave", "continue"]),
    protocol=st.sampled_from(["auto", "consumer", "classic"]),
)
def test_random_lives_never_break_the_rules(
    moves: list[tuple[int, float]], static: bool, policy: str, protocol: str
) -> None:
    """Any order of events at any times: legal transitions, no spinning, owned changes only by callbacks."""
    play = Play.new(group_instance_id="i" if static else None, callback_errors=policy, group_protocol=protocol)
    play.do(Subscribe(frozenset({"orders"})))
    for choice, seconds in moves:
        events = sample_events(play)
        play.do(events[choice % len(events)])
        play.advance(seconds)


def test_rules_are_due_or_not_and_never_both() -> None:
    """After a step no rule is due: what is due has been done."""
    for state in MemberState:
        play = in_state(state)
        assert all((at := rule.due(play.member)) is None or at > play.now for rule in rules_of(play.member))


def test_topics_and_partitions_of_two_topics_do_not_mix() -> None:
    """Set algebra over partitions keeps topics apart."""
    both = Partitions.of({ORDERS: [0, 1], BILLS: [0]})
    assert both - orders(0) == Partitions.of({ORDERS: [1], BILLS: [0]})
    assert orders(0) | Partitions.of({BILLS: [0]}) == both - orders(1)
    assert len(both) == 3
    assert Partitions.of({ORDERS: [], BILLS: [-1]}) == Partitions()
