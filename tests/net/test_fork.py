"""A forked child must not disturb its parent's connections."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from membership_client.core.events import Answered, Heartbeat, HeartbeatAccepted, Send
from membership_client.net import BrokerTransport, connecting
from tests.net import answers
from tests.net.patience import LIMIT_S, open_descriptors, outcomes
from tests.net.scripted_broker import Peer, ScriptedBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

# Forking beside threads is what users do, and what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

HEARTBEAT = Heartbeat(group_id="g", member_id="m", epoch=3)


def serve(peer: Peer) -> None:
    peer.welcome()
    with contextlib.suppress(EOFError):
        while True:
            peer.answer(peer.request(), answers.heartbeat(epoch=1))
    peer.gone.set()


@contextlib.contextmanager
def child_that_abandons(transport: BrokerTransport) -> Iterator[int]:
    """A child that calls `abandon()`, says how many descriptors that closed, and lives until the end of the block."""
    done_reader, done_writer = os.pipe()
    leave_reader, leave_writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            before = open_descriptors()
            transport.abandon()
            closed = before - open_descriptors()
            transport.abandon()
            transport.wakeup()
            os.write(done_writer, bytes([closed]))
            os.close(leave_writer)
            os.read(leave_reader, 1)
            status = 0
        os._exit(status)
    os.close(done_writer)
    yield os.read(done_reader, 1)[0]
    for descriptor in (done_reader, leave_reader, leave_writer):
        os.close(descriptor)
    assert os.waitpid(child, 0)[1] == 0


def test_the_parent_goes_on() -> None:
    """The child closed its copies; the parent's connection and its wakeups work as before."""
    with ScriptedBroker(serve) as broker:
        transport = BrokerTransport([broker.node], client_id="tester", connect_timeout_s=LIMIT_S)
        with contextlib.closing(transport):
            exchange(transport, broker)
            with child_that_abandons(transport):
                exchange(transport, broker)
                transport.wakeup()
                assert transport.wait(LIMIT_S) == []
            exchange(transport, broker)
            assert broker.connections == 1


def test_the_child_holds_nothing_back() -> None:
    """When the parent closes, the broker sees it, although the child lives on: it has kept no descriptor of ours."""
    with ScriptedBroker(serve) as broker:
        transport = BrokerTransport([broker.node], client_id="tester", connect_timeout_s=LIMIT_S)
        exchange(transport, broker)
        with child_that_abandons(transport) as closed:
            assert closed == 3  # the connection and both ends of the wakeup
            transport.close()
            assert broker.client_gone.wait(LIMIT_S)


def test_a_child_may_connect_also_if_threads_of_its_parent_were_connecting() -> None:
    """Only sixteen threads do so at a time; those of the parent are not in the child, and never make room there."""
    with contextlib.ExitStack() as places:
        for _ in range(16):
            assert connecting.places().acquire(timeout=LIMIT_S)
            places.callback(connecting.places().release)
        assert not connecting.places().acquire(blocking=False)
        child = os.fork()
        if child == 0:
            os._exit(0 if connecting.places().acquire(blocking=False) else 1)
        assert os.waitpid(child, 0)[1] == 0


def exchange(transport: BrokerTransport, broker: ScriptedBroker) -> None:
    transport.send(Send(1, broker.node, HEARTBEAT))
    assert outcomes(transport) == [Answered(1, HeartbeatAccepted(epoch=1, interval_s=3.0))]
