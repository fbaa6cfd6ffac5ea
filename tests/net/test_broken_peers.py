"""Brokers that answer nonsense, too much, half or unasked, or hang up."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from membership_client.core.events import Failed, FailureKind, Send
from tests.net import answers
from tests.net.answers import framed, payload
from tests.net.patience import LIMIT_S, outcomes, until
from tests.net.scripted_broker import Peer, ScriptedBroker
from tests.net.transport import HEARTBEAT, accepted, failed, returns_of_wait, serve, transport_to


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


@pytest.mark.parametrize("answered", [0, 1])
def test_a_broker_that_never_answered_may_be_another_kind_of_port(answered: int) -> None:
    """One that wants TLS or a password hangs up; one that has answered before only went away."""

    def answer_and_go(peer: Peer) -> None:
        peer.welcome()
        for _ in range(answered):
            peer.answer(peer.request(), answers.heartbeat(epoch=1))
        peer.request()

    with ScriptedBroker(answer_and_go) as broker, transport_to(broker.node) as transport:
        for number in range(answered):
            transport.send(Send(number, broker.node, HEARTBEAT))
            outcomes(transport)
        transport.send(Send(9, broker.node, HEARTBEAT))
        detail = failed(transport).detail
        assert detail.startswith(f"{broker.node} closed the connection")
    assert ("is security.protocol right?" in detail) is (answered == 0)


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
