"""A transport to scripted brokers, and what its tests send and expect."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from membership_client.core.events import Answered, Failed, FindCoordinator, Heartbeat, HeartbeatAccepted
from membership_client.net import BrokerTransport
from membership_client.types import Node
from tests.net import answers
from tests.net.patience import LIMIT_S, outcomes
from tests.net.scripted_broker import Peer

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
