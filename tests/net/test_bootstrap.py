"""Bootstrap brokers that are dead or silent, and connections to them."""

from __future__ import annotations

import socket
import threading

from membership_client.core.events import Answered, CoordinatorFound, Failed, Refused, Send
from membership_client.types import Node
from tests.net import answers
from tests.net.patience import LIMIT_S, outcomes, until
from tests.net.scripted_broker import Peer, ScriptedBroker, stay
from tests.net.transport import FIND, HEARTBEAT, accepted, serve, transport_to


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


def test_a_server_that_was_silent_is_asked_again_after_all_others() -> None:
    """Turning to the next one gives up none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = Node("127.0.0.1", listener.getsockname()[1])
    with ScriptedBroker(stay, serve) as broker, transport_to(broker.node, dead) as transport:
        transport.send(Send(1, None, FIND))
        until(lambda: broker.connections == 1)
        transport.wait(0.1)
        transport.disconnect(None)
        transport.send(Send(2, None, FIND))
        (outcome,) = outcomes(transport)
        assert (outcome.request_id, type(outcome)) == (2, Answered)


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


def test_a_bootstrap_connection_is_kept_for_a_question_that_will_be_repeated() -> None:
    """While a group has no coordinator yet it is asked for several times a second."""

    def not_yet(peer: Peer) -> None:
        peer.welcome()
        for error in (15, 0):
            asked = peer.request()
            peer.answer(asked, answers.coordinator(asked.version, error=error))
        peer.wait_for_close()

    with ScriptedBroker(not_yet) as broker, transport_to(broker.node) as transport:
        for number, kind in ((1, Refused), (2, CoordinatorFound)):
            transport.send(Send(number, None, FIND))
            (outcome,) = outcomes(transport)
            assert isinstance(outcome, Answered)
            assert isinstance(outcome.response, kind)
        assert broker.client_gone.wait(LIMIT_S)
        assert broker.connections == 1


def hang_up_on_a_request(peer: Peer) -> None:
    peer.welcome()
    peer.request()


def test_a_bootstrap_broker_that_hangs_up_is_passed_over() -> None:
    """The question failed, and the next one goes to the next broker."""
    with (
        ScriptedBroker(hang_up_on_a_request) as first,
        ScriptedBroker(serve) as second,
        transport_to(first.node, second.node) as transport,
    ):
        for number, kind in ((1, Failed), (2, Answered)):
            transport.send(Send(number, None, FIND))
            assert [type(one) for one in outcomes(transport)] == [kind]
        assert (first.connections, second.connections) == (1, 1)


def test_a_coordinator_that_fails_says_nothing_about_bootstrap_brokers() -> None:
    """The first of them is still the first."""
    with (
        ScriptedBroker(hang_up_on_a_request) as coordinator,
        ScriptedBroker(serve) as first,
        ScriptedBroker(serve) as second,
        transport_to(first.node, second.node) as transport,
    ):
        transport.send(Send(1, coordinator.node, HEARTBEAT))
        assert [type(one) for one in outcomes(transport)] == [Failed]
        transport.send(Send(2, None, FIND))
        assert [type(one) for one in outcomes(transport)] == [Answered]
        assert (first.connections, second.connections) == (1, 0)


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
