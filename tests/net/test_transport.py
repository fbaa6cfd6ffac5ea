"""The transport's promises, one at a time, against peers that keep to a script."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from membership_client.core.events import (
    Answered,
    CoordinatorFound,
    Failed,
    FailureKind,
    FindCoordinator,
    Heartbeat,
    HeartbeatAccepted,
    LeaveGroup,
    Refused,
    Request,
    Send,
)
from membership_client.net import BrokerTransport
from membership_client.types import Node
from tests.net import answers
from tests.net.answers import framed, payload
from tests.net.patience import LIMIT_S, open_descriptors, outcomes, until
from tests.net.scripted_broker import Peer, ScriptedBroker, black_hole, stay

if TYPE_CHECKING:
    from collections.abc import Iterator

HEARTBEAT = Heartbeat(group_id="g", member_id="m", epoch=3)
FIND = FindCoordinator(group_id="g")


@contextlib.contextmanager
def transport_to(*bootstrap: Node, connect_timeout_s: float = LIMIT_S, **settings: Any) -> Iterator[BrokerTransport]:
    transport = BrokerTransport(bootstrap, client_id="tester", connect_timeout_s=connect_timeout_s, **settings)
    with contextlib.closing(transport):
        yield transport


def failed(transport: BrokerTransport) -> Failed:
    (outcome,) = outcomes(transport)
    assert isinstance(outcome, Failed)
    return outcome


def accepted(request_id: int, epoch: int) -> Answered:
    return Answered(request_id, HeartbeatAccepted(epoch=epoch, interval_s=3.0))


def serve(peer: Peer) -> None:
    """A script: accept heartbeats with epochs 1, 2, 3, ..., and name this broker as coordinator."""
    peer.welcome()
    epoch = 0
    while True:
        asked = peer.request()
        if asked.api_key == answers.FIND_COORDINATOR:
            peer.answer(asked, answers.coordinator(asked.version, host="coordinator"))
        else:
            epoch += 1
            peer.answer(asked, answers.heartbeat(epoch=epoch))


# --- answers ---------------------------------------------------------------------------------------------------------


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
    names = tuple(f"{number:0>200}" for number in range(60_000))
    received = []

    def read_late(peer: Peer) -> None:
        peer.welcome()
        time.sleep(0.2)
        asked = peer.request()
        received.append(asked.message.subscribed_topic_names)
        peer.answer(asked, answers.heartbeat(epoch=1))
        peer.wait_for_close()

    with ScriptedBroker(read_late, receive_buffer=4096) as broker, transport_to(broker.node) as transport:
        request = Heartbeat(group_id="g", member_id="m", epoch=0, topics=names, regex="")
        transport.send(Send(1, broker.node, request))
        assert outcomes(transport) == [accepted(1, epoch=1)]
    assert received == [names]


# --- broken peers ----------------------------------------------------------------------------------------------------


def misbehave(said: Any) -> Any:
    def script(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        peer.send(said(asked) if callable(said) else said)
        peer.wait_for_close()

    return script


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(lambda asked: framed(payload(answers.heartbeat(), asked.correlation_id + 1)), id="wrong id"),
        pytest.param(lambda asked: framed(payload(answers.heartbeat(), asked.correlation_id)[:-1]), id="cut answer"),
        pytest.param(b"\x7f\xff\xff\xff", id="too long"),
        pytest.param(b"\xff\xff\xff\xff", id="negative length"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="http"),
    ],
)
def test_senseless_answers_end_the_connection(said: Any) -> None:
    """Everything outstanding fails as NOT_KAFKA, with the address, and the connection is closed."""
    with ScriptedBroker(misbehave(said)) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.send(Send(2, broker.node, HEARTBEAT))
        ended = outcomes(transport, 2)
        assert broker.client_gone.wait(LIMIT_S)
        for number, outcome in enumerate(ended, start=1):
            assert isinstance(outcome, Failed)
            assert (outcome.request_id, outcome.kind) == (number, FailureKind.NOT_KAFKA)
            assert f"{broker.node} did not answer like a Kafka broker" in outcome.detail


def test_answers_out_of_order_end_the_connection() -> None:
    """Kafka answers in order; a peer that does not cannot be trusted to mean what it says."""

    def swap(peer: Peer) -> None:
        peer.welcome()
        first, second = peer.request(), peer.request()
        peer.answer(second, answers.heartbeat(epoch=2))
        peer.answer(first, answers.heartbeat(epoch=1))
        peer.wait_for_close()

    with ScriptedBroker(swap) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.send(Send(2, broker.node, HEARTBEAT))
        ended = outcomes(transport, 2)
    assert [outcome.request_id for outcome in ended] == [1, 2]
    assert all(isinstance(outcome, Failed) and outcome.kind is FailureKind.NOT_KAFKA for outcome in ended)


def test_an_answer_is_kept_although_nonsense_follows_it() -> None:
    """What was answered before the peer went mad counts; only the rest fails."""

    def go_mad(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        peer.request()
        peer.send(framed(payload(answers.heartbeat(epoch=1), asked.correlation_id)) + b"\xff" * 20)
        peer.wait_for_close()

    with ScriptedBroker(go_mad) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.send(Send(2, broker.node, HEARTBEAT))
        first, second = outcomes(transport, 2)
    assert first == accepted(1, epoch=1)
    assert isinstance(second, Failed)
    assert second.kind is FailureKind.NOT_KAFKA


def test_an_answer_longer_than_allowed_is_refused() -> None:
    """The limit is the caller's."""

    def long_winded(peer: Peer) -> None:
        peer.welcome()
        peer.answer(peer.request(), answers.heartbeat(assignment=[(None, range(10_000))]))
        peer.wait_for_close()

    with ScriptedBroker(long_winded) as broker, transport_to(broker.node, max_frame_bytes=10_000) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        assert failed(transport).kind is FailureKind.NOT_KAFKA


def test_a_connection_that_ends_fails_what_is_outstanding() -> None:
    """The broker hung up: every open request is DISCONNECTED, and the next one opens a new connection."""

    def hang_up(peer: Peer) -> None:
        peer.welcome()
        peer.request()
        peer.request()

    with ScriptedBroker(hang_up, serve) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.send(Send(2, broker.node, HEARTBEAT))
        ended = outcomes(transport, 2)
        assert [(one.request_id, one.kind) for one in ended if isinstance(one, Failed)] == [
            (1, FailureKind.DISCONNECTED),
            (2, FailureKind.DISCONNECTED),
        ]
        transport.send(Send(3, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(3, epoch=1)]


def test_a_dead_peer_does_not_make_the_owner_spin() -> None:
    """After the broker closed an idle connection `wait()` blocks again instead of reporting it for ever."""
    hang_up = threading.Event()

    def answer_once(peer: Peer) -> None:
        peer.welcome()
        peer.answer(peer.request(), answers.heartbeat(epoch=1))
        hang_up.wait(LIMIT_S)

    with ScriptedBroker(answer_once) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        outcomes(transport)
        hang_up.set()
        assert returns_of_wait(transport, for_s=0.5) <= 3


def test_a_peer_that_speaks_unasked_is_dropped() -> None:
    """Nothing was outstanding, so nothing fails; the next request opens a new connection."""

    def talkative(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        peer.answer(asked, answers.heartbeat(epoch=1))
        peer.answer(asked, answers.heartbeat(epoch=2))
        peer.wait_for_close()

    with ScriptedBroker(talkative, serve) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(1, epoch=1)]
        assert returns_of_wait(transport, for_s=0.3) <= 3
        assert broker.client_gone.wait(LIMIT_S)
        transport.send(Send(2, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(2, epoch=1)]


def test_half_an_answer_does_not_make_the_owner_spin() -> None:
    """The peer fell silent in the middle of a frame; the owner loses patience and calls `disconnect()`."""

    def stop_halfway(peer: Peer) -> None:
        peer.welcome()
        peer.send(framed(payload(answers.heartbeat(), peer.request().correlation_id))[:10])
        peer.wait_for_close()

    with ScriptedBroker(stop_halfway, serve) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        until(lambda: broker.connections == 1)
        assert returns_of_wait(transport, for_s=0.5) <= 4
        transport.disconnect(broker.node)
        assert broker.client_gone.wait(LIMIT_S)
        transport.send(Send(2, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(2, epoch=1)]


def returns_of_wait(transport: BrokerTransport, for_s: float) -> int:
    """How often `wait()` returns, always empty-handed, within that time."""
    deadline, count = time.monotonic() + for_s, 0
    while (left := deadline - time.monotonic()) > 0:
        assert transport.wait(left) == []
        count += 1
    return count


# --- versions --------------------------------------------------------------------------------------------------------


def test_a_request_that_cannot_be_written_fails_alone() -> None:
    """The next one goes over the same connection; the exception used to end the thread that keeps the membership."""

    def script(peer: Peer) -> None:
        peer.welcome()
        peer.answer(peer.request(), answers.heartbeat(epoch=3))
        peer.wait_for_close()

    with ScriptedBroker(script) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, Heartbeat(group_id="g", member_id="\ud800", epoch=3)))
        outcome = failed(transport)
        assert (outcome.request_id, outcome.kind) == (1, FailureKind.UNENCODABLE)
        assert outcome.detail.startswith("Heartbeat cannot be written in Kafka's format: UnicodeEncodeError")
        transport.send(Send(2, broker.node, HEARTBEAT))
        (answered,) = outcomes(transport)
        assert isinstance(answered, Answered)
        assert broker.connections == 1


@pytest.mark.parametrize(
    ("offer", "request_", "words"),
    [
        ({10: (0, 3)}, HEARTBEAT, ["ConsumerGroupHeartbeat v1", "Kafka 4.0", "none"]),
        ({68: (0, 0)}, HEARTBEAT, ["ConsumerGroupHeartbeat v1", "offered v0"]),
        (
            {13: (0, 4)},
            LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="r"),
            ["LeaveGroup v5", "v0 to v4"],
        ),
    ],
)
def test_a_request_that_the_broker_lacks_is_not_sent(offer: Any, request_: Request, words: list[str]) -> None:
    """The failure names the API, what is needed, what there is, and where; the connection stays open."""

    def old(peer: Peer) -> None:
        peer.welcome(offer)
        peer.wait_for_close()

    with ScriptedBroker(old) as broker, transport_to(broker.node) as transport:
        for number in (1, 2):
            transport.send(Send(number, broker.node, request_))
            outcome = failed(transport)
            assert (outcome.request_id, outcome.kind) == (number, FailureKind.UNSUPPORTED)
            for word in [*words, str(broker.node)]:
                assert word in outcome.detail
        assert broker.connections == 1


@pytest.mark.parametrize("last", [3, 4, 6])
def test_the_version_that_both_sides_know_is_used(last: int) -> None:
    """The same request takes the shape that the broker understands."""
    versions = []

    def script(peer: Peer) -> None:
        peer.welcome({10: (0, last)})
        asked = peer.request()
        versions.append(asked.version)
        peer.answer(asked, answers.coordinator(asked.version, host="elsewhere", port=1, node_id=2))

    with ScriptedBroker(script) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, None, FIND))
        assert outcomes(transport) == [Answered(1, CoordinatorFound(Node("elsewhere", 1, 2)))]
    assert versions == [last]


# --- bootstrap -------------------------------------------------------------------------------------------------------


def test_a_dead_bootstrap_broker_is_passed_over() -> None:
    """The first address fails; the same request is answered by the second, and the following ones are."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = Node("127.0.0.1", listener.getsockname()[1])
    with ScriptedBroker(serve) as broker, transport_to(dead, broker.node) as transport:
        for number in (1, 2, 3):
            transport.send(Send(number, None, FIND))
            assert [one.request_id for one in outcomes(transport) if isinstance(one, Answered)] == [number]


def test_a_silent_bootstrap_broker_is_passed_over() -> None:
    """The owner lost patience with the first address: `disconnect(None)` turns to the second."""
    with (
        ScriptedBroker(stay) as silent,
        ScriptedBroker(serve) as broker,
        transport_to(silent.node, broker.node) as transport,
    ):
        transport.send(Send(1, None, FIND))
        until(lambda: silent.connections == 1)
        transport.wait(0.1)
        transport.disconnect(None)
        transport.send(Send(2, None, FIND))
        (outcome,) = outcomes(transport)
        assert outcome.request_id == 2
        assert isinstance(outcome, Answered)


def test_bootstrap_connections_are_not_kept() -> None:
    """Brokers have better uses for a connection than to be asked once in a while."""

    def serve_once(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        peer.answer(asked, answers.coordinator(asked.version))
        peer.wait_for_close()

    with ScriptedBroker(serve_once) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, None, FIND))
        outcomes(transport)
        assert broker.client_gone.wait(LIMIT_S)


def test_dropping_the_bootstrap_connection_leaves_the_coordinators_alone() -> None:
    """Also where both are the same broker."""
    proceed = threading.Event()

    def slow(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        proceed.wait(LIMIT_S)
        peer.answer(asked, answers.heartbeat(epoch=1))
        peer.wait_for_close()

    with ScriptedBroker(slow, stay) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        until(lambda: broker.connections == 1)
        transport.send(Send(2, None, FIND))
        until(lambda: broker.connections == 2)
        transport.disconnect(None)
        proceed.set()
        assert outcomes(transport) == [accepted(1, epoch=1)]


# --- disconnect ------------------------------------------------------------------------------------------------------


def test_what_was_sent_over_a_dropped_connection_is_forgotten() -> None:
    """No Failed for it, ever; and the broker sees the connection close."""
    with ScriptedBroker(stay, serve) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        until(lambda: broker.connections == 1)
        transport.wait(0.2)
        transport.disconnect(broker.node)
        assert broker.client_gone.wait(LIMIT_S)
        transport.send(Send(2, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(2, epoch=1)]


def test_what_waits_for_a_connection_is_forgotten_too() -> None:
    """A request whose connection was never opened is dropped with it; the attempt's own end is not reported."""
    with black_hole() as node, transport_to(node, connect_timeout_s=0.3) as transport:
        transport.send(Send(1, node, HEARTBEAT))
        transport.disconnect(node)
        until(lambda: not connecting_threads(node))
        assert transport.wait(0.1) == []


def test_a_broker_is_connected_to_once_at_a_time() -> None:
    """Giving up and trying again joins the attempt under way: no pile of threads behind a dead firewall."""
    with black_hole() as node, transport_to(node, connect_timeout_s=0.5) as transport:
        for number in range(20):
            transport.send(Send(number, node, HEARTBEAT))
            transport.disconnect(node)
        transport.send(Send(99, node, HEARTBEAT))
        assert len(connecting_threads(node)) == 1
        outcome = failed(transport)
        assert (outcome.request_id, outcome.kind) == (99, FailureKind.UNREACHABLE)


def test_a_set_up_that_takes_longer_than_a_request_may_wait() -> None:
    """It goes on when the owner gives up, and the next request joins it: a slow handshake must not begin anew for ever."""
    proceed = threading.Event()

    def take_long(peer: Peer) -> None:
        assert proceed.wait(LIMIT_S)
        serve(peer)

    with (
        ScriptedBroker(take_long) as broker,
        transport_to(broker.node, answer_timeout_s=0.01) as transport,
    ):
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.wait(0.1)
        transport.disconnect(broker.node)
        transport.send(Send(2, broker.node, HEARTBEAT))
        proceed.set()
        assert outcomes(transport) == [accepted(2, epoch=1)]
        assert broker.connections == 1


def test_disconnecting_a_stranger_does_nothing() -> None:
    """There may be no such connection."""
    with transport_to(Node("127.0.0.1", 1)) as transport:
        transport.disconnect(Node("127.0.0.1", 2))


def connecting_threads(node: Node) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"membership-connect-{node}"]


# --- waiting ---------------------------------------------------------------------------------------------------------


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


# --- the end ---------------------------------------------------------------------------------------------------------


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


def test_what_is_opened_after_the_close_is_closed_by_who_opened_it() -> None:
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
