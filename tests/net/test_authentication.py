"""SASL and TLS against peers that keep to a script: what no real broker does."""

from __future__ import annotations

import base64
import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import scramp

from membership_client.core.events import Answered, Failed, FailureKind, Heartbeat, HeartbeatAccepted, Send
from membership_client.net import BrokerTransport
from membership_client.net.channel import OpenFailed
from membership_client.net.connection import Connection
from membership_client.net.opening import open_connection
from membership_client.security import Security
from tests.net import answers
from tests.net.patience import LIMIT_S, outcomes, until
from tests.net.scripted_broker import MODERN, Peer, ScriptedBroker, stay
from tests.net.transport import connecting_threads

HANDSHAKE, AUTHENTICATE = 17, 36
OFFER = {**MODERN, HANDSHAKE: (0, 1), AUTHENTICATE: (0, 2)}
RENEWABLE_S = 1.2
"""Sessions last a millisecond here, and are renewed when brokers take it."""
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


def open_to(broker: ScriptedBroker, security: Security, timeout_s: float = LIMIT_S) -> Connection:
    return open_connection(broker.node, client_id="tester", timeout_s=timeout_s, security=security)


def failure(script: Callable[[Peer], None], security: Security, timeout_s: float = LIMIT_S) -> OpenFailed:
    with ScriptedBroker(script) as broker, pytest.raises(OpenFailed) as caught:
        open_to(broker, security, timeout_s)
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
    """A server that cannot prove that it knows the password is not our broker."""
    failed = failure(saying(authenticated(challenge)), password("SCRAM-SHA-256"))
    assert failed.kind is FailureKind.AUTHENTICATION
    assert "SCRAM-SHA-256 of alice" in failed.detail


def test_a_broker_that_asks_for_too_much_work() -> None:
    """Two thousand million rounds of hashing would keep a core busy for a quarter of an hour."""

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        asked = peer.request()
        nonce = asked.message.auth_bytes.rpartition(b"r=")[2]
        peer.answer(asked, authenticated(b"r=" + nonce + b"more,s=QSXCR+Q6sek8bf92QSXCR+Q6,i=2147483647"))
        peer.wait_for_close()

    assert failure(script, password("SCRAM-SHA-256")).kind is FailureKind.AUTHENTICATION


def scram_server(spoil: Callable[[str], str]) -> Callable[[Peer], None]:
    """A script: a broker that knows the password, and whose own proof is spoilt."""
    mechanism = scramp.ScramMechanism("SCRAM-SHA-256")
    known = mechanism.make_auth_info("hunter2")

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        server = mechanism.make_server(lambda _: known)
        first = peer.request()
        server.set_client_first(first.message.auth_bytes.decode())
        peer.answer(first, authenticated(server.get_server_first().encode()))
        final = peer.request()
        server.set_client_final(final.message.auth_bytes.decode())
        peer.answer(final, authenticated(spoil(server.get_server_final()).encode()))
        peer.wait_for_close()

    return script


def test_a_broker_proves_that_it_knows_the_password() -> None:
    """SCRAM is mutual: one that only lets us in is not believed."""
    with ScriptedBroker(scram_server(lambda final: final)) as broker:
        open_to(broker, password("SCRAM-SHA-256")).close()
    failed = failure(scram_server(lambda _: f"v={base64.b64encode(bytes(32)).decode()}"), password("SCRAM-SHA-256"))
    assert failed.kind is FailureKind.AUTHENTICATION
    assert "failed at SCRAM-SHA-256 of alice" in failed.detail


def test_a_broker_without_sasl_authenticate() -> None:
    """Older than Kafka 1.0."""

    def script(peer: Peer) -> None:
        peer.welcome(MODERN)
        peer.wait_for_close()

    assert "Kafka 1.0" in failure(script, password()).detail


@pytest.mark.parametrize("missing", [HANDSHAKE, AUTHENTICATE])
def test_a_broker_without_one_of_the_two_requests(missing: int) -> None:
    """Both are needed, and nothing else."""

    def script(peer: Peer) -> None:
        peer.welcome({key: versions for key, versions in OFFER.items() if key != missing})
        peer.wait_for_close()

    failed = failure(script, password())
    assert failed.kind is FailureKind.AUTHENTICATION
    assert "Kafka 1.0" in failed.detail


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (33, "does not offer PLAIN, but SCRAM-SHA-256, OAUTHBEARER: check sasl.mechanism"),
        (34, "does not want SASL on this port: is security.protocol right?"),
        (58, "refuses SASL with error 58"),
    ],
)
def test_a_broker_that_refuses_the_mechanism(code: int, words: str) -> None:
    """No password is shown to it."""
    asked: list[str] = []

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        handshake = peer.request()
        asked.append(handshake.message.mechanism)
        wire = answers.module(HANDSHAKE, 1)
        mechanisms = ("SCRAM-SHA-256", "OAUTHBEARER")
        peer.answer(handshake, wire.SaslHandshakeResponse(error_code=answers.Code(code), mechanisms=mechanisms))
        asked.append(str(peer.request()))

    failed = failure(script, password())
    assert failed.kind is FailureKind.AUTHENTICATION
    assert failed.detail.endswith(words)
    assert asked == ["PLAIN"]


def test_a_refusal_without_words_has_its_number() -> None:
    """The oldest brokers say no more."""
    failed = failure(saying(authenticated(error=58)), password())
    assert failed.detail.endswith("refuses PLAIN authentication of alice: error 58")


@pytest.mark.parametrize(("offered", "spoken"), [(0, 0), (1, 1), (2, 2), (3, 2)])
def test_the_newest_common_version_of_authentication(offered: int, spoken: int) -> None:
    """Also with a broker that knows one that we do not, and offers nothing but authentication."""
    versions = []

    def script(peer: Peer) -> None:
        peer.welcome({HANDSHAKE: (0, 1), AUTHENTICATE: (0, offered)})
        shake_hands(peer)
        asked = peer.request()
        versions.append(asked.version)
        wire = answers.module(AUTHENTICATE, asked.version)
        life = {"session_lifetime": answers.milliseconds(0)} if asked.version else {}
        ok = wire.SaslAuthenticateResponse(error_code=answers.Code(0), error_message=None, auth_bytes=b"", **life)
        peer.answer(asked, ok)
        peer.wait_for_close()

    with ScriptedBroker(script) as broker, contextlib.closing(open_to(broker, password())) as connection:
        assert not due_after(connection, FOREVER_S)
    assert versions == [spoken]


FOREVER_S = 1e9


def due_after(connection: Connection, seconds: float) -> bool:
    """Will it have to say who we are again, so long after now?"""
    with pytest.MonkeyPatch.context() as later:
        at = time.monotonic() + seconds
        later.setattr("membership_client.net.connection.time", SimpleNamespace(monotonic=lambda: at))
        return connection.is_due


@pytest.mark.parametrize(
    ("life_ms", "too_early_s", "late_enough_s"),
    [
        # 85 % of the session, but not within the second in which brokers take no other proof.
        (2_000_000_000, 1_699_000.0, 1_700_100.0),
        (1, 0.0, 30.0),
    ],
)
def test_a_session_is_renewed_before_it_ends(life_ms: int, too_early_s: float, late_enough_s: float) -> None:
    """There is time for a slow network, and it is not done all the time."""
    script = saying(authenticated(life_ms=life_ms))
    with ScriptedBroker(script) as broker:
        began = time.monotonic()
        with contextlib.closing(open_to(broker, password())) as connection:
            early = due_after(connection, too_early_s)
            assert not early or time.monotonic() - began > 1.0
            assert due_after(connection, late_enough_s)


def test_a_session_without_an_end_is_not_renewed() -> None:
    """Brokers say 0 for that."""
    script = saying(authenticated(life_ms=0))
    with ScriptedBroker(script) as broker, contextlib.closing(open_to(broker, password())) as connection:
        assert not due_after(connection, FOREVER_S)


def test_new_credentials_are_used_from_the_next_connection_on() -> None:
    """A refusal of the old ones does not end a member that has new ones by then."""
    who: list[str] = []

    def admit_bob(peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        asked = peer.request()
        who.append(asked.message.auth_bytes.split(b"\0")[1].decode())
        peer.answer(asked, authenticated(error=0 if who[-1] == "bob" else 58, message="who?"))
        while True:
            peer.answer(peer.request(), answers.heartbeat(epoch=1))

    with ScriptedBroker(admit_bob) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=password())
        with contextlib.closing(transport):
            transport.send(Send(1, broker.node, HEARTBEAT))
            transport.use(user("bob"))
            assert isinstance(outcomes(transport)[0], Answered)
    assert who == ["alice", "bob"]


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


def bearer(oauth_cb: Callable[[str], tuple[str, float]]) -> Security:
    return Security.from_dict(
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": oauth_cb}
    )


def test_a_token_that_was_good_once_is_replaced() -> None:
    """A broker whose clock is ahead, or whose keys have changed, does not end a member that can get another token; a new one may be accepted."""
    refused = saying(authenticated(b'{"status":"invalid_token"}'))
    shown = itertools.count()
    security = bearer(lambda _: (f"token-{next(shown)}", time.time() + 3600))
    with ScriptedBroker(saying(authenticated()), refused) as broker:
        open_to(broker, security).close()
        for kind in (FailureKind.UNREACHABLE, FailureKind.AUTHENTICATION):
            with pytest.raises(OpenFailed, match="invalid_token") as caught:
                open_to(broker, security)
            assert caught.value.kind is kind
    assert next(shown) == 2


def test_a_callback_that_does_not_return_costs_its_members_only() -> None:
    """Few may open connections at a time: it took the places of all other members of the process for ever."""
    goes = threading.Event()

    def never(_: str) -> tuple[str, float]:
        goes.wait(LIMIT_S)
        return "too-late", 0.0

    with ScriptedBroker(saying()) as wanted, ScriptedBroker(stay) as plain, contextlib.ExitStack() as closing:

        def transport(connect_timeout_s: float, **more: Any) -> BrokerTransport:
            made = BrokerTransport([plain.node], client_id="t", connect_timeout_s=connect_timeout_s, **more)
            return closing.enter_context(contextlib.closing(made))

        closing.callback(goes.set)
        blocked = [transport(LIMIT_S, security=bearer(never)) for _ in range(32)]
        for member in (*blocked, hasty := transport(0.2, security=bearer(never))):
            member.send(Send(1, wanted.node, HEARTBEAT))
        transport(LIMIT_S).send(Send(2, plain.node, HEARTBEAT))
        until(lambda: plain.connections == 1)
        (failed,) = outcomes(hasty)
        assert wanted.connections == 0
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.UNREACHABLE
    assert "no token to show" in failed.detail
    assert failed.detail.endswith("has not answered within 0.1 s")


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
                time.sleep(RENEWABLE_S)
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
            time.sleep(RENEWABLE_S)
            transport.send(Send(2, broker.node, HEARTBEAT))
            (failed,) = outcomes(transport)
            assert broker.client_gone.wait(LIMIT_S)
    assert isinstance(failed, Failed)
    assert (failed.request_id, failed.kind) == (2, FailureKind.AUTHENTICATION)
    assert "not any more" in failed.detail


def user(name: str) -> Security:
    return Security.from_dict(
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": name,
            "sasl.password": "hunter2",
        }
    )


def short_sessions(peer: Peer) -> None:
    """A script: sessions that are over at once, renewed as often as the client likes, and heartbeats."""
    peer.welcome(OFFER)
    try:
        while True:
            asked = peer.request()
            if asked.api_key == HANDSHAKE:
                wire = answers.module(HANDSHAKE, 1)
                peer.answer(asked, wire.SaslHandshakeResponse(error_code=answers.Code(0), mechanisms=("PLAIN",)))
            elif asked.api_key == AUTHENTICATE:
                peer.answer(asked, authenticated(life_ms=1))
            else:
                peer.answer(asked, answers.heartbeat(epoch=1))
    except EOFError:
        peer.gone.set()


def test_another_user_gets_another_connection() -> None:
    """Brokers take no proof of another user on a connection; the old one is closed."""
    with ScriptedBroker(short_sessions) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=user("alice"))
        with contextlib.closing(transport):
            transport.send(Send(1, broker.node, HEARTBEAT))
            assert isinstance(outcomes(transport)[0], Answered)
            time.sleep(RENEWABLE_S)
            transport.use(user("bob"))
            transport.send(Send(2, broker.node, HEARTBEAT))
            assert isinstance(outcomes(transport)[0], Answered)
            assert broker.client_gone.wait(LIMIT_S)
            assert broker.connections == 2


def test_a_session_that_cannot_be_renewed_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system has no thread to spare: the request that waited hears of it, and the connection is given up."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with ScriptedBroker(short_sessions) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=user("alice"))
        with contextlib.closing(transport):
            transport.send(Send(1, broker.node, HEARTBEAT))
            assert isinstance(outcomes(transport)[0], Answered)
            time.sleep(RENEWABLE_S)
            with monkeypatch.context() as system:
                system.setattr(threading.Thread, "start", refuse)
                transport.send(Send(2, broker.node, HEARTBEAT))
            (failed,) = outcomes(transport)
            assert isinstance(failed, Failed)
            assert broker.client_gone.wait(LIMIT_S)


def test_new_credentials_change_nothing_for_a_broker_that_cannot_be_reached() -> None:
    """Only a refusal of the old ones is a reason to try at once again, and only if a request waits for it."""

    def be_strange(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    refuse = saying(authenticated(error=58, message="who?"))
    with ScriptedBroker(be_strange) as stranger, ScriptedBroker(refuse) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=user("alice"))
        with contextlib.closing(transport):
            transport.send(Send(1, stranger.node, HEARTBEAT))
            transport.send(Send(2, broker.node, HEARTBEAT))
            transport.disconnect(broker.node)
            transport.use(user("bob"))
            (failed,) = outcomes(transport)
            assert isinstance(failed, Failed)
            assert failed.kind is FailureKind.NOT_KAFKA
            until(lambda: transport.wait(0.05) == [] and not connecting_threads(broker.node))
            assert transport.wait(0.2) == []
        assert (stranger.connections, broker.connections) == (1, 1)


@pytest.mark.parametrize("answers_first", [True, False])
def test_what_waits_for_a_session_goes_on_after_what_is_under_way(answers_first: bool) -> None:
    """On the same connection; or on another, if the broker hangs up instead: it was not sent yet."""
    under_way, proceed = threading.Event(), threading.Event()
    epochs = itertools.count(1)

    def script(peer: Peer) -> None:
        peer.welcome(OFFER)
        while True:
            asked = peer.request()
            if asked.api_key == HANDSHAKE:
                wire = answers.module(HANDSHAKE, 1)
                peer.answer(asked, wire.SaslHandshakeResponse(error_code=answers.Code(0), mechanisms=("PLAIN",)))
            elif asked.api_key == AUTHENTICATE:
                peer.answer(asked, authenticated(life_ms=1))
            else:
                under_way.set()
                assert proceed.wait(LIMIT_S)
                epoch = next(epochs)
                if epoch == 1 and not answers_first:
                    return
                peer.answer(asked, answers.heartbeat(epoch=epoch))

    with ScriptedBroker(script) as broker:
        transport = BrokerTransport([broker.node], client_id="t", connect_timeout_s=LIMIT_S, security=user("alice"))
        with contextlib.closing(transport):
            transport.send(Send(1, broker.node, HEARTBEAT))
            until(lambda: transport.wait(0.01) == [] and under_way.is_set())
            time.sleep(RENEWABLE_S)
            for number in (2, 3):
                transport.send(Send(number, broker.node, HEARTBEAT))
            proceed.set()
            first, second, third = outcomes(transport, 3)
        assert broker.connections == (1 if answers_first else 2)
    assert [one.request_id for one in (first, second, third)] == [1, 2, 3]
    assert isinstance(first, Answered if answers_first else Failed)
    assert isinstance(second, Answered)
    assert isinstance(third, Answered)
