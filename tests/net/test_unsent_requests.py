"""Requests that cannot be written, or that the broker does not know, and the version that both sides know."""

from __future__ import annotations

from typing import Any

import pytest

from membership_client.core.events import Answered, CoordinatorFound, FailureKind, Heartbeat, LeaveGroup, Request, Send
from membership_client.types import Node
from tests.net import answers
from tests.net.patience import outcomes
from tests.net.scripted_broker import Peer, ScriptedBroker
from tests.net.transport import FIND, HEARTBEAT, failed, transport_to


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
        ({}, HEARTBEAT, ["ConsumerGroupHeartbeat v1", "Kafka 4.0", "none"]),
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
