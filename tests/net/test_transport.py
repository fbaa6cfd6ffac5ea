"""The promises of a transport whose brokers keep theirs: answers, waiting, and the close."""

from __future__ import annotations

import gc
import re
import socket
import threading
import time

import pytest

from membership_client.core.events import Answered, FailureKind, JoinGroup, Refused, Send, SyncGroup
from membership_client.net import BrokerTransport
from membership_client.net.opening import open_connection
from membership_client.net.wakeup import Mailbox, Wakeup
from membership_client.types import Node
from tests.net import answers
from tests.net.answers import framed, payload
from tests.net.patience import LIMIT_S, open_descriptors, outcomes, until
from tests.net.scripted_broker import MODERN, Peer, ScriptedBroker, black_hole, stay
from tests.net.transport import (
    FIND,
    HEARTBEAT,
    accepted,
    connecting_threads,
    failed,
    read_late,
    send_large_request,
    serve,
    transport_to,
)


def test_requests_are_answered_over_one_connection() -> None:
    """A connection is opened by the first request and used by the following ones."""
    with ScriptedBroker(serve) as broker, transport_to(broker.node) as transport:
        for number in (1, 2, 3):
            transport.send(Send(number, broker.node, HEARTBEAT))
            assert outcomes(transport) == [accepted(number, epoch=number)]
        assert broker.connections == 1


def test_requests_wait_for_the_connection_in_order() -> None:
    """What is sent before the connection is open goes out when it is, in the order in which it was sent."""
    with ScriptedBroker(serve) as broker, transport_to(broker.node) as transport:
        for number in range(10):
            transport.send(Send(number, broker.node, HEARTBEAT))
        assert outcomes(transport, 10) == [accepted(number, epoch=number + 1) for number in range(10)]


def test_a_refusal_is_an_answer() -> None:
    """An error code from the broker is Answered, and the throttle time comes with it."""

    def refuse(peer: Peer) -> None:
        peer.welcome()
        peer.answer(peer.request(), answers.heartbeat(error=999, throttle_ms=1500))
        peer.wait_for_close()

    with ScriptedBroker(refuse) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        assert outcomes(transport) == [Answered(1, Refused(999, "error 999"), 1.5)]


def test_every_request_says_who_sends_it() -> None:
    """Brokers write it into their logs, and quotas go by it."""
    seen = []

    def script(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        seen.append(asked.client_id)
        peer.answer(asked, answers.heartbeat(epoch=1))
        peer.wait_for_close()

    with ScriptedBroker(script) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        outcomes(transport)
    assert seen == ["tester"]


def test_joins_and_syncs_hold_nothing_up() -> None:
    """A broker answers in order, and holds these back until others have come: they have a connection of their own."""
    asked_on: list[list[int]] = []

    def hold_joins(peer: Peer) -> None:
        asked_on.append(keys := [])
        peer.welcome({**MODERN, 11: (0, 9), 14: (0, 5)})
        while True:
            asked = peer.request()
            keys.append(asked.api_key)
            if asked.api_key == answers.HEARTBEAT:
                peer.answer(asked, answers.heartbeat(epoch=1))

    join = JoinGroup(
        group_id="g",
        member_id="m",
        instance_id=None,
        session_timeout_s=45.0,
        rebalance_timeout_s=60.0,
        strategies=("range",),
        topics=frozenset({"orders"}),
    )
    sync = SyncGroup(group_id="g", member_id="m", instance_id=None, generation=1, strategy="range", plan={})
    with ScriptedBroker(hold_joins) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, join))
        transport.send(Send(2, broker.node, sync))
        transport.send(Send(3, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(3, epoch=1)]
        until(lambda: transport.wait(0.01) == [] and sorted(map(sorted, asked_on)) == [[11, 14], [68]])
        transport.disconnect(broker.node)
        transport.send(Send(4, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(4, epoch=1)]
        assert broker.connections == 3


def test_a_connection_that_failed_is_tried_anew_for_the_next_request() -> None:
    """Each request hears of its own attempt; the address is one that a broker told us."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = Node("127.0.0.1", listener.getsockname()[1], 7)
    with transport_to(dead) as transport:
        for number in (1, 2):
            transport.send(Send(number, dead, HEARTBEAT))
            outcome = failed(transport)
            assert (outcome.request_id, outcome.kind) == (number, FailureKind.UNREACHABLE)
            assert outcome.detail.endswith("(the address that broker 7 advertises: see its advertised.listeners)")
        transport.send(Send(3, None, FIND))
        assert "advertise" not in failed(transport).detail


def test_a_stranger_at_an_advertised_address_is_told_as_one() -> None:
    """It is there, so the address is not what is wrong."""

    def be_strange(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.wait_for_close()

    with ScriptedBroker(be_strange) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        outcome = failed(transport)
    assert outcome.kind is FailureKind.NOT_KAFKA
    assert "advertise" not in outcome.detail


def test_an_answer_may_come_byte_by_byte() -> None:
    """Half an answer completes nothing and costs no spinning; the rest completes it."""

    def dribble(peer: Peer) -> None:
        peer.welcome()
        for octet in framed(payload(answers.heartbeat(epoch=1), peer.request().correlation_id)):
            peer.send(bytes([octet]))
            time.sleep(0.001)
        peer.wait_for_close()

    with ScriptedBroker(dribble) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(1, epoch=1)]


def test_several_answers_may_come_at_once() -> None:
    """Two frames in one packet are two answers."""

    def batch(peer: Peer) -> None:
        peer.welcome()
        asked = [peer.request(), peer.request()]
        peer.send(b"".join(framed(payload(answers.heartbeat(epoch=9), one.correlation_id)) for one in asked))
        peer.wait_for_close()

    with ScriptedBroker(batch) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.send(Send(2, broker.node, HEARTBEAT))
        assert outcomes(transport, 2) == [accepted(1, epoch=9), accepted(2, epoch=9)]


def test_a_large_request_goes_out_in_pieces() -> None:
    """What the socket does not take at once is sent when it can, while the owner waits for answers as always."""
    send_large_request(read_late)


def test_nothing_blocks_the_owner_but_wait() -> None:
    """A connect that is swallowed and a broker that is silent cost `send()` nothing, and `wait()` its own timeout."""
    with (
        black_hole() as node,
        ScriptedBroker(Peer.wait_for_close) as silent,
        transport_to(node, connect_timeout_s=5) as transport,
    ):
        started = time.monotonic()
        transport.send(Send(1, node, HEARTBEAT))
        transport.send(Send(2, silent.node, HEARTBEAT))
        assert all(thread.daemon for thread in connecting_threads(node))
        assert transport.wait(0) == []
        assert transport.wait(0.2) == []
        assert time.monotonic() - started < 4


def test_no_threads_are_left_behind() -> None:
    """A connection that is open needs none."""
    with ScriptedBroker(serve) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        outcomes(transport)
        until(lambda: not connecting_threads(broker.node))


def test_a_transport_that_is_out_of_threads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's refusal to start a thread ends the request like any other connect that fails."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with transport_to(Node("127.0.0.1", 1)) as transport:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        transport.send(Send(1, None, FIND))
        outcome = failed(transport)
    assert outcome.kind is FailureKind.UNREACHABLE
    assert "can't start new thread" in outcome.detail


def test_closing_closes_the_connections() -> None:
    """The broker sees it; a second close does nothing; a late wakeup does not hurt; further use is an error."""
    with ScriptedBroker(stay) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.wait(0.5)
        transport.close()
        transport.close()
        transport.wakeup()
        assert broker.client_gone.wait(LIMIT_S)
        with pytest.raises(RuntimeError, match="closed"):
            transport.send(Send(2, broker.node, HEARTBEAT))
        with pytest.raises(RuntimeError, match="closed"):
            transport.wait(0)


def test_what_is_opened_after_the_close_is_closed_by_the_thread_that_opened_it() -> None:
    """A connecting thread that comes too late hangs up, and no descriptor is left."""
    gate = threading.Event()

    def late(peer: Peer) -> None:
        gate.wait(LIMIT_S)
        stay(peer)

    with ScriptedBroker(late) as broker:
        before = open_descriptors()
        transport = BrokerTransport([broker.node], client_id="tester", connect_timeout_s=LIMIT_S)
        transport.send(Send(1, None, FIND))
        until(lambda: broker.connections == 1)
        transport.close()
        gate.set()
        assert broker.client_gone.wait(LIMIT_S)
        until(lambda: not connecting_threads(broker.node))
        del transport
        gc.collect()
        # The broker's end of the connection is ours too: it ends with its script.
        until(lambda: open_descriptors() <= before)


def test_an_abandoned_transport_is_closed() -> None:
    """In a forked child no thread answers, so no call may wait."""
    transport = BrokerTransport([Node("127.0.0.1", 1)], client_id="tester", connect_timeout_s=LIMIT_S)
    transport.abandon()
    with pytest.raises(RuntimeError, match="closed"):
        transport.send(Send(1, None, FIND))


def test_nothing_is_left_in_a_mailbox_that_was_abandoned() -> None:
    """What is put into it later is still the giver's to close."""
    wakeup = Wakeup()
    mailbox: Mailbox[int] = Mailbox(wakeup)
    assert mailbox.put(1)
    assert mailbox.abandon() == [1]
    assert not mailbox.put(2)
    wakeup.abandon()


def test_a_connection_that_is_closed_forgets_what_was_asked() -> None:
    """Nothing is outstanding on it, whatever it was closed for."""
    with ScriptedBroker(stay) as broker:
        connection = open_connection(broker.node, client_id="tester", timeout_s=LIMIT_S)
        assert connection.send(1, HEARTBEAT) == []
        assert not connection.idle
        connection.close()
        assert connection.idle
        assert connection.closed


def test_an_attempt_that_failed_unnoticed_is_nothing_to_close() -> None:
    """The owner closed before it looked."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = Node("127.0.0.1", listener.getsockname()[1])
    with transport_to(dead) as transport:
        transport.send(Send(1, dead, HEARTBEAT))
        until(lambda: not connecting_threads(dead))


@pytest.mark.parametrize(
    ("connect_s", "answer_s", "least_s", "most_s"),
    [
        # A tenth is left of the time for an answer, or the outcome of connecting would not be reported.
        (1.0, 0.8, 0.0, 0.72),
        (0.2, 10.0, 0.0, 0.2),
        # A set-up that may take much longer than an answer is left alone: the next request joins it.
        (1.6, 0.8, 0.8, 1.6),
    ],
)
def test_connecting_to_an_advertised_address_ends_before_the_request_does(
    connect_s: float, answer_s: float, least_s: float, most_s: float
) -> None:
    """The sender of the request then knows the reason, and not only that there was no answer."""
    with (
        ScriptedBroker(Peer.wait_for_close) as silent,
        transport_to(silent.node, connect_timeout_s=connect_s, answer_timeout_s=answer_s) as transport,
    ):
        transport.send(Send(1, silent.node, HEARTBEAT))
        detail = failed(transport).detail
    told = re.search(r"did not answer within (\S+) s", detail)
    assert told is not None
    assert least_s < float(told[1]) <= most_s
