"""Answers to the two requests of KIP-714, written by kio and read by us; and whose connection carries a push."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from membership_client.core.events import Answered, HeartbeatAccepted, Refused, Response, Send
from membership_client.net import codec
from membership_client.net.telemetry_requests import (
    GetTelemetrySubscriptions,
    PushTelemetry,
    TelemetrySubscription,
    TelemetryTaken,
)
from tests.net import answers
from tests.net.patience import outcomes, until
from tests.net.scripted_broker import MODERN, Peer, ScriptedBroker
from tests.net.transport import HEARTBEAT, transport_to

GIVEN, OTHER = UUID(int=7), UUID(int=8)
ASK = GetTelemetrySubscriptions(client_instance_id=None)
PUSH = PushTelemetry(client_instance_id=GIVEN, subscription_id=3, terminating=False, compression=0, metrics=b"otlp")
GET, PUT = 71, 72


def told(*, error: int = 0, client_instance_id: UUID | None = GIVEN, **changes: Any) -> Any:
    says = {
        "throttle_time": answers.milliseconds(0),
        "error_code": answers.Code(error),
        "client_instance_id": client_instance_id,
        "subscription_id": 3,
        "accepted_compression_types": (4, 1),
        "push_interval": answers.milliseconds(60_000),
        "telemetry_max_bytes": 1_048_576,
        "delta_temporality": True,
        "requested_metrics": ("*",),
    }
    return answers.module(GET, 0).GetTelemetrySubscriptionsResponse(**says | changes)


def taken(error: int = 0) -> Any:
    no_time = answers.milliseconds(0)
    return answers.module(PUT, 0).PushTelemetryResponse(throttle_time=no_time, error_code=answers.Code(error))


def decoded(request: GetTelemetrySubscriptions | PushTelemetry, answer: Any) -> Response:
    return codec.decode(request, 0, answers.payload(answer))[0]


def test_a_subscription_is_read() -> None:
    """Every field of it."""
    assert decoded(ASK, told()) == TelemetrySubscription(
        client_instance_id=GIVEN,
        subscription_id=3,
        accepted_compressions=(4, 1),
        interval_s=60.0,
        most_bytes=1_048_576,
        delta=True,
        prefixes=("*",),
    )
    empty = decoded(ASK, told(accepted_compression_types=(), delta_temporality=False, requested_metrics=()))
    assert isinstance(empty, TelemetrySubscription)
    assert (empty.accepted_compressions, empty.delta, empty.prefixes) == ((), False, ())


def test_a_client_keeps_its_instance_id() -> None:
    """Brokers answer with none, or with the same one, to a client that has one."""
    for answered in (None, OTHER):
        again = decoded(GetTelemetrySubscriptions(client_instance_id=GIVEN), told(client_instance_id=answered))
        assert isinstance(again, TelemetrySubscription)
        assert again.client_instance_id == GIVEN


def test_an_answer_without_an_id_is_a_refusal() -> None:
    """A push without one would be refused for good."""
    assert decoded(ASK, told(client_instance_id=None)) == Refused(-1, "the answer has no client instance id")


def test_error_codes_are_refusals() -> None:
    """Of both requests."""
    assert decoded(ASK, told(error=89)) == Refused(89)
    assert decoded(PUSH, taken(117)) == Refused(117)
    assert decoded(PUSH, taken()) == TelemetryTaken()


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_push_has_a_connection_of_its_own(asked_first: bool) -> None:
    """So a receiver that hangs holds back no answer to a heartbeat. The subscription does not depend on a receiver."""
    offer = {**MODERN, GET: (0, 0), PUT: (0, 0)}

    def first(peer: Peer) -> None:
        peer.welcome(offer)
        for _ in range(2):
            asked = peer.request()
            peer.answer(asked, told() if asked.api_key == GET else answers.heartbeat(epoch=1))
        peer.wait_for_close()

    def second(peer: Peer) -> None:
        peer.welcome(offer)
        assert peer.request().api_key == PUT
        peer.wait_for_close()

    with ScriptedBroker(first, second) as broker, transport_to(broker.node) as transport:
        transport.send(Send(1, broker.node, ASK if asked_first else HEARTBEAT))
        outcomes(transport)
        transport.send(Send(2, broker.node, PUSH))
        transport.send(Send(3, broker.node, HEARTBEAT if asked_first else ASK))
        (answered,) = outcomes(transport)
        assert isinstance(answered, Answered)
        assert answered.request_id == 3
        assert isinstance(answered.response, HeartbeatAccepted if asked_first else TelemetrySubscription)


def test_the_last_push_takes_the_open_connection() -> None:
    """The transport is closed right after it: another connection would not be open in time."""
    keys: list[int] = []

    def serve(peer: Peer) -> None:
        peer.welcome({**MODERN, GET: (0, 0), PUT: (0, 0)})
        peer.answer(peer.request(), answers.heartbeat(epoch=1))
        keys.append(peer.request().api_key)
        peer.wait_for_close()

    with ScriptedBroker(serve) as broker:
        with transport_to(broker.node) as transport:
            transport.send(Send(1, broker.node, HEARTBEAT))
            outcomes(transport)
            transport.send(Send(2, broker.node, replace(PUSH, terminating=True)))
        until(lambda: keys == [PUT])
        assert broker.connections == 1
