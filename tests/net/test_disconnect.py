"""Connections that the owner gives up, open or still being set up."""

from __future__ import annotations

import threading
import time

from membership_client.core.events import FailureKind, Send
from membership_client.types import Node
from tests.net.patience import LIMIT_S, outcomes, until
from tests.net.scripted_broker import Peer, ScriptedBroker, black_hole, stay
from tests.net.transport import HEARTBEAT, accepted, connecting_threads, failed, serve, transport_to


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

    with ScriptedBroker(take_long) as broker, transport_to(broker.node, answer_timeout_s=0.01) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        transport.wait(0.1)
        transport.disconnect(broker.node)
        transport.send(Send(2, broker.node, HEARTBEAT))
        proceed.set()
        assert outcomes(transport) == [accepted(2, epoch=1)]
        assert broker.connections == 1


def test_a_connection_without_requests_is_not_kept() -> None:
    """It was given up while it was set up; the next request opens another."""
    proceed = threading.Event()

    def take_long(peer: Peer) -> None:
        assert proceed.wait(LIMIT_S)
        stay(peer)

    with ScriptedBroker(take_long, serve) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        until(lambda: broker.connections == 1)
        transport.disconnect(broker.node)
        proceed.set()
        deadline = time.monotonic() + LIMIT_S
        while not broker.client_gone.is_set():
            assert transport.wait(0.05) == []
            assert time.monotonic() < deadline
        transport.send(Send(2, broker.node, HEARTBEAT))
        assert outcomes(transport) == [accepted(2, epoch=1)]


def test_disconnecting_a_stranger_does_nothing() -> None:
    """There may be no such connection."""
    with transport_to(Node("127.0.0.1", 1)) as transport:
        transport.disconnect(Node("127.0.0.1", 2))
