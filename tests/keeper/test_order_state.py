"""The keeper's decisions for one member, by values; and the bytes that it reads and writes."""

from __future__ import annotations

import pytest

from membership_client.core.events import ClassicHeartbeat, Heartbeat
from membership_client.core.keeper import Watch
from membership_client.keeper.messages import (
    Frame,
    UnreadableError,
    order_bytes,
    read_answer,
    read_order,
    read_report,
    report_bytes,
    stop_bytes,
)
from membership_client.keeper.order_state import (
    STOPPED_PAUSE_S,
    KeeperReport,
    Order,
    OrderState,
    answered,
    decide,
    due,
    ordered,
    stopped,
)
from membership_client.net.codec import encode
from membership_client.runtime.keeper_link import frame_of
from membership_client.types import Node

ORDER = Order(number=1, epoch=7, at=100.0, interval_s=3.0, until=110.0)


def sent(state: OrderState, now: float) -> OrderState:
    state, sends = decide(state, now, parent_runs=True)
    assert sends
    return state


def test_nothing_is_sent_before_the_time_of_the_order() -> None:
    """The member relies on it: before that time no heartbeat of the keeper can be under way."""
    state = ordered(OrderState(), ORDER)
    assert due(state) == 100.0
    assert decide(state, 99.999, parent_runs=True) == (state, False)


def test_one_heartbeat_per_interval_until_the_budget_is_spent() -> None:
    """Each waits for the answer to the last one; at `until` no more are sent."""
    state = sent(ordered(OrderState(), ORDER), 100.0)
    assert due(state) is None
    state = answered(state, 0, 7)
    assert due(state) == 103.0
    state = answered(sent(state, 109.0), 0, 7)
    state, sends = decide(state, 112.0, parent_runs=True)
    assert (sends, state.order) == (False, None)


def test_a_stop_comes_before_the_heartbeat() -> None:
    """It is confirmed at once if no answer is outstanding."""
    state = stopped(ordered(OrderState(), ORDER), 2)
    assert state.report == KeeperReport(2, 7, None, settled=True)
    assert decide(state, 105.0, parent_runs=True) == (state, False)


def test_a_stop_is_confirmed_when_the_answer_has_come() -> None:
    """The confirmation has the epoch of that answer."""
    state = stopped(sent(ordered(OrderState(), ORDER), 100.0), 2)
    assert not state.report.settled
    assert answered(state, 0, 8).report == KeeperReport(2, 8, 100.0, settled=True)


def test_the_epoch_follows_the_coordinator() -> None:
    """A heartbeat under an epoch older than the previous one would be refused."""
    assert answered(sent(ordered(OrderState(), ORDER), 100.0), 0, 9).epoch == 9


@pytest.mark.parametrize("code", [110, 25, 82, 22, 111, 30])
def test_a_refusal_ends_the_order(code: int) -> None:
    """The member learns of it from its own next heartbeat."""
    state = answered(sent(ordered(OrderState(), ORDER), 100.0), code, None)
    assert (state.order, state.confirmed_at) == (None, None)


@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_coordinator_in_trouble_is_asked_again(code: int) -> None:
    """The member is still in the group."""
    state = answered(sent(ordered(OrderState(), ORDER), 100.0), code, None)
    assert (due(state), state.confirmed_at) == (103.0, None)


def test_a_rebalance_confirms_a_classic_member() -> None:
    """The member is in the group, and the coordinator will tell it of the rebalance, too."""
    assert answered(sent(ordered(OrderState(), ORDER), 100.0), 27, None).confirmed_at == 100.0


def test_a_stopped_parent_is_not_kept() -> None:
    """The keeper looks again soon, because the parent may go on."""
    state, sends = decide(ordered(OrderState(), ORDER), 100.0, parent_runs=False)
    assert not sends
    assert due(state) == 100.0 + STOPPED_PAUSE_S


def test_bytes_between_the_processes_are_read_as_they_were_written() -> None:
    """These are orders, stops and reports."""
    frame = Frame(b"\0\0\0\0abcd", 4, tells_epoch=True)
    assert read_order(order_bytes(ORDER, frame)) == (ORDER, frame)
    assert read_order(stop_bytes(5)) == 5
    for report in (KeeperReport(1, 7, None, settled=True), KeeperReport(2, -1, 1.5, settled=False)):
        assert read_report(report_bytes(report)) == report


def test_a_frame_takes_another_epoch() -> None:
    """Nothing else in it changes."""
    assert Frame(b"abcd\0\0\0\0ef", 4, tells_epoch=True).with_epoch(258) == b"abcd\0\0\1\2ef"


def header(flexible: bool) -> bytes:
    return b"\0\0\0\0" + (b"\0" if flexible else b"")


def test_answers_of_kafka_are_understood() -> None:
    """They are as brokers write them: an error with its message, a long member id, and all versions of the classic answer."""
    refused = header(flexible=True) + b"\0\0\0\0" + b"\0\x6e" + b"\x04old" + b"\0" + b"\0\0\0\0"
    assert read_answer(refused, tells_epoch=True) == (110, None)
    name = b"m" * 200
    accepted = header(flexible=True) + b"\0\0\0\0\0\0" + b"\0" + b"\xc9\x01" + name + b"\0\0\1\0" + b"rest"
    assert read_answer(accepted, tells_epoch=True) == (0, 256)
    assert read_answer(header(flexible=False) + b"\0\0\0\0\0\x1b", tells_epoch=False) == (27, None)
    assert read_answer(header(flexible=True) + b"\0\0\0\0\0\x19\0", tells_epoch=False) == (25, None)


@pytest.mark.parametrize("size", range(16))
def test_an_answer_that_is_cut_off_is_none(size: int) -> None:
    """It ends the link, and not the keeper."""
    accepted = header(flexible=True) + b"\0\0\0\0\0\0" + b"\0" + b"\x02m" + b"\0\0\1\0"
    with pytest.raises(UnreadableError):
        read_answer(accepted[:size], tells_epoch=True)


def test_the_frame_of_a_heartbeat_has_its_epoch_where_it_says() -> None:
    """This is checked for each version that the keeper knows, and for names of any length."""
    consumer = Heartbeat(group_id="g" * 130, member_id="m" * 20, epoch=5)
    classic = ClassicHeartbeat(group_id="g", member_id="m", instance_id="i", generation=5)
    for request, later, versions in (
        (consumer, Heartbeat(group_id="g" * 130, member_id="m" * 20, epoch=77), (1,)),
        (classic, ClassicHeartbeat(group_id="g", member_id="m", instance_id="i", generation=77), (3, 4)),
    ):
        for version in versions:
            offer = {68: (0, version), 12: (0, version)}
            frame = frame_of(Watch(Node("b", 1), request, 1.0, 1.0), offer, "c")
            assert frame is not None
            assert frame.with_epoch(77) == encode(later, version, 0, "c")
