"""A transport to scripted brokers, and what its tests send and expect."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from membership_client.core.events import Answered, Failed, FindCoordinator, Heartbeat, HeartbeatAccepted, Send
from membership_client.net import BrokerTransport
from membership_client.types import Node
from tests.net import answers
from tests.net.patience import LIMIT_S, outcomes
from tests.net.scripted_broker import Peer, ScriptedBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


HEARTBEAT = Heartbeat(group_id="g", member_id="m", epoch=3)
FIND = FindCoordinator(group_id="g")
_NAMES = tuple(f"{number:0>200}" for number in range(60_000))
_LARGE = Heartbeat(group_id="g", member_id="m", epoch=0, topics=_NAMES, regex="")


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


def returns_of_wait(transport: BrokerTransport, for_s: float) -> int:
    """How often `wait()` returns, always empty-handed, within that time."""
    deadline, count = time.monotonic() + for_s, 0
    while (left := deadline - time.monotonic()) > 0:
        assert transport.wait(left) == []
        count += 1
    return count


def connecting_threads(node: Node) -> list[threading.Thread]:
    """Those that set up a connection to this broker."""
    return [thread for thread in threading.enumerate() if thread.name == f"membership-connect-{node}"]


def read_late(peer: Peer) -> None:
    """A script: read the large request when the sender's buffers are full; it must arrive as it was sent."""
    peer.welcome()
    time.sleep(0.2)
    asked = peer.request()
    assert asked.message.subscribed_topic_names == _LARGE.topics
    peer.answer(asked, answers.heartbeat(epoch=1))
    peer.wait_for_close()


def send_large_request(script: Callable[[Peer], None], **settings: Any) -> None:
    """Send a heartbeat of 12 MB to a broker that has a small buffer, and expect its answer."""
    with ScriptedBroker(script, receive_buffer=4096) as broker, transport_to(broker.node, **settings) as transport:
        transport.send(Send(1, broker.node, _LARGE))
        assert outcomes(transport) == [accepted(1, epoch=1)]
