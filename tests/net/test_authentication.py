"""SASL and TLS against peers that keep to a script: what no real broker does."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from membership_client.core.events import Answered, Failed, FailureKind, Heartbeat, HeartbeatAccepted, Send
from membership_client.net import BrokerTransport
from membership_client.net.opening import OpenFailed, open_connection
from membership_client.security import Security
from tests.net import answers
from tests.net.patience import LIMIT_S, outcomes
from tests.net.scripted_broker import MODERN, Peer, ScriptedBroker

HANDSHAKE, AUTHENTICATE = 17, 36
OFFER = {**MODERN, HANDSHAKE: (0, 1), AUTHENTICATE: (0, 2)}
HEARTBEAT = Heartbeat(group_id="g", member_id="m", epoch=3)


def password(mechanism: str = "PLAIN") -> Security:
    return Security.from_dict(
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": "hunter2",
        }
    )


def authenticated(auth_bytes: bytes = b"", *, error: int = 0, message: str | None = None, life_ms: int = 0) -> Any:
    wire = answers.module(AUTHENTICATE, 2)
    return wire.SaslAuthenticateResponse(
        error_code=answers.Code(error),
        error_message=message,
        auth_bytes=auth_bytes,
        session_lifetime=answers.milliseconds(life_ms),
    )


def shake_hands(peer: Peer) -> None:
    asked = peer.request()
    assert asked.api_key == HANDSHAKE
    wire = answers.module(HANDSHAKE, 1)
    peer.answer(asked, wire.SaslHandshakeResponse(error_code=answers.Code(0), mechanisms=("PLAIN",)))


def saying(*said: Any) -> Callable[[Peer], None]:
    """A script: a broker that answers each message of a conversation with the next of these."""

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        for answer in said:
            peer.answer(peer.request(), answer)
        peer.wait_for_close()

    return script


def failure(script: Callable[[Peer], None], security: Security, timeout_s: float = LIMIT_S) -> OpenFailed:
    with ScriptedBroker(script) as broker, pytest.raises(OpenFailed) as caught:
        open_connection(broker.node, client_id="tester", timeout_s=timeout_s, security=security)
    return caught.value


def test_a_broker_that_says_the_password_back() -> None:
    """What it says is shown, without the password."""
    failed = failure(saying(authenticated(error=58, message="I do not know hunter2.")), password())
    assert failed.kind is FailureKind.AUTHENTICATION
    assert failed.detail.endswith("refuses PLAIN authentication of alice: I do not know ***.")


@pytest.mark.parametrize(
    "challenge", [b"", b"\xff\xfe", b"r=other,s=QSXCR+Q6sek8bf92,i=4096", b"i=1", b"e=other-error"]
)
def test_a_broker_that_does_not_know_scram(challenge: bytes) -> None:
    """Whoever cannot answer as one who knows the password is not our broker."""
    failed = failure(saying(authenticated(challenge)), password("SCRAM-SHA-256"))
    assert failed.kind is FailureKind.AUTHENTICATION
    assert "SCRAM-SHA-256 of alice" in failed.detail


def test_a_broker_without_sasl_authenticate() -> None:
    """Older than Kafka 1.0."""

    def script(peer: Peer) -> None:
        peer.welcome(MODERN)
        peer.wait_for_close()

    assert "Kafka 1.0" in failure(script, password()).detail


@pytest.mark.parametrize(
    "security", [Security.from_dict({"security.protocol": "ssl"}), password()], ids=["handshake", "authentication"]
)
def test_a_broker_that_falls_silent(security: Security) -> None:
    """Both are within the time for setting a connection up."""

    def script(peer: Peer) -> None:
        if security.sasl is not None:
            peer.welcome(OFFER)
        peer.wait_for_close()

    failed = failure(script, security, timeout_s=0.5)
    assert failed.kind is FailureKind.UNREACHABLE
    assert "did not answer within 0.5 s" in failed.detail


def test_requests_wait_while_a_session_is_renewed() -> None:
    """The session is over at once; before the second request we say again who we are, on the same connection."""

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        peer.answer(peer.request(), authenticated(life_ms=1))
        first = peer.request()
        peer.answer(first, answers.heartbeat(epoch=1))
        shake_hands(peer)
        peer.answer(peer.request(), authenticated(life_ms=1))
        peer.answer(peer.request(), answers.heartbeat(epoch=2))
        peer.wait_for_close()

    with ScriptedBroker(script) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=password())
        with contextlib.closing(transport):
            got: list[Answered | Failed] = []
            for number in (1, 2):
                time.sleep(0.01)  # Sessions last a millisecond here.
                transport.send(Send(number, broker.node, HEARTBEAT))
                got += outcomes(transport)
        assert broker.connections == 1
    accepted = [Answered(number, HeartbeatAccepted(epoch=number, interval_s=3.0)) for number in (1, 2)]
    assert got == accepted


def test_a_session_that_is_not_renewed() -> None:
    """The request that waited fails with the broker's reason, and was not sent."""

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        peer.answer(peer.request(), authenticated(life_ms=1))
        peer.answer(peer.request(), answers.heartbeat(epoch=1))
        shake_hands(peer)
        peer.answer(peer.request(), authenticated(error=58, message="not any more"))
        peer.wait_for_close()

    with ScriptedBroker(script) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=password())
        with contextlib.closing(transport):
            transport.send(Send(1, broker.node, HEARTBEAT))
            assert isinstance(outcomes(transport)[0], Answered)
            time.sleep(0.01)
            transport.send(Send(2, broker.node, HEARTBEAT))
            (failed,) = outcomes(transport)
    assert isinstance(failed, Failed)
    assert (failed.request_id, failed.kind) == (2, FailureKind.AUTHENTICATION)
    assert "not any more" in failed.detail
