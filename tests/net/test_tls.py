"""TLS to scripted brokers: connections that work, and every way in which a handshake fails."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
from collections.abc import Callable
from typing import Any

import pytest
import trustme

from membership_client.core.events import Answered, FailureKind, Send
from membership_client.net.channel import HungUp, OpenFailed
from membership_client.net.opening import open_connection
from membership_client.net.tls import explain
from membership_client.security import Security
from membership_client.types import Node
from tests.net import answers
from tests.net.names import resolve_to
from tests.net.patience import LIMIT_S, open_descriptors, outcomes, until
from tests.net.scripted_broker import Peer, ScriptedBroker, stay
from tests.net.tls_broker import AUTHORITY, over_tls, server_context, trusting
from tests.net.transport import HEARTBEAT, accepted, read_late, send_large_request, serve, transport_to

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


def test_requests_are_answered_under_tls() -> None:
    """As without it, over one connection; and `wait()` blocks between them."""
    with ScriptedBroker(over_tls(serve)) as broker, transport_to(broker.node, security=trusting()) as transport:
        for number in (1, 2, 3):
            transport.send(Send(number, broker.node, HEARTBEAT))
            assert outcomes(transport) == [accepted(number, epoch=number)]
        assert broker.connections == 1


def test_half_a_tls_record_is_not_the_end() -> None:
    """A long answer comes in many: there is something to read, and no whole record in it yet."""

    def tell_much(peer: Peer) -> None:
        peer.welcome()
        peer.answer(peer.request(), answers.heartbeat(epoch=1, assignment=[(None, range(200_000))]))
        peer.wait_for_close()

    with ScriptedBroker(over_tls(tell_much)) as broker, transport_to(broker.node, security=trusting()) as transport:
        transport.send(Send(1, broker.node, HEARTBEAT))
        (answered,) = outcomes(transport)
        assert isinstance(answered, Answered)


def test_a_socket_without_news_says_so_as_any_other_does() -> None:
    """What TLS says to itself, such as a ticket for the next session, is no news."""
    with ScriptedBroker(over_tls(stay)) as broker:
        opened = open_connection(broker.node, client_id="tester", timeout_s=LIMIT_S, security=trusting())
        with contextlib.closing(opened) as connection, pytest.raises(BlockingIOError):
            connection.channel.socket.recv(1)


def test_a_large_request_goes_out_in_pieces_under_tls() -> None:
    """What the socket does not take at once is sent when it can."""
    send_large_request(over_tls(read_late), security=trusting())


# --- handshakes that fail --------------------------------------------------------------------------------------------


def failure(node: Node, security: Security) -> OpenFailed:
    with pytest.raises(OpenFailed) as caught:
        open_connection(node, client_id="tester", timeout_s=LIMIT_S, security=security)
    return caught.value


def hang_up(_: Peer) -> None:
    """A script: nothing more is said."""


def hang_up_after_a_request(peer: Peer) -> None:
    peer.request()


def hang_up_in_the_handshake(peer: Peer) -> None:
    peer.receive_some()


def say_http(peer: Peer) -> None:
    peer.receive_some()
    peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    peer.wait_for_close()


def wants_a_certificate() -> ssl.SSLContext:
    context = server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    AUTHORITY.configure_trust(context)
    return context


FAILURES: list[tuple[Callable[[Peer], None], Security, FailureKind, str]] = [
    (over_tls(stay), trusting(trustme.CA()), FailureKind.UNTRUSTED, "has a certificate that no authority we trust"),
    (
        over_tls(stay, server_context("other.test")),
        trusting(),
        FailureKind.UNTRUSTED,
        "is for another host (IP address",
    ),
    (
        over_tls(stay, server_context(not_before=NOW - 2 * DAY, not_after=NOW - DAY)),
        trusting(),
        FailureKind.UNTRUSTED,
        "has a certificate that has expired",
    ),
    (
        over_tls(stay, server_context(not_before=NOW + DAY, not_after=NOW + 2 * DAY)),
        trusting(),
        FailureKind.UNTRUSTED,
        "is not valid yet: is this machine's clock right?",
    ),
    (
        over_tls(stay, wants_a_certificate()),
        trusting(),
        FailureKind.AUTHENTICATION,
        "does not accept our certificate, or wants one (tlsv13 alert certificate required)",
    ),
    (say_http, trusting(), FailureKind.NOT_KAFKA, "does not speak TLS: is security.protocol right?"),
    (hang_up_in_the_handshake, trusting(), FailureKind.UNREACHABLE, "broke off the TLS handshake"),
    (
        over_tls(hang_up_after_a_request),
        trusting(),
        FailureKind.UNREACHABLE,
        "closed the connection after the TLS handshake",
    ),
]


@pytest.mark.parametrize(
    ("script", "security", "kind", "words"),
    FAILURES,
    ids=["authority", "host", "expired", "not yet", "client certificate", "http", "broken off", "hung up"],
)
def test_a_handshake_that_fails_is_explained(
    script: Callable[[Peer], None], security: Security, kind: FailureKind, words: str
) -> None:
    """The kind decides whether it is tried again; the text says what an operator has to do."""
    with ScriptedBroker(script) as broker:
        failed = failure(broker.node, security)
        assert failed.detail.startswith(f"{broker.node} ")
    assert failed.kind is kind
    assert words in failed.detail
    assert not failed.ours


def test_a_handshake_that_fails_leaves_no_socket_behind() -> None:
    """Members try again for hours."""
    security = trusting(trustme.CA())
    with ScriptedBroker(over_tls(stay)) as broker:
        failed = failure(broker.node, security)
        before = open_descriptors()
        kept = [failed, *(failure(broker.node, security) for _ in range(3))]
        # The broker closes its own ends when it has seen ours close.
        until(lambda: open_descriptors() <= before)
    assert {one.kind for one in kept} == {FailureKind.UNTRUSTED}


def test_the_host_that_was_asked_for_is_told_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker behind a shared address chooses its certificate by that name."""
    told: list[str | None] = []
    context = server_context("broker.test")
    context.sni_callback = lambda _, name, __: told.append(name)
    with ScriptedBroker(over_tls(stay, context)) as broker:
        resolve_to(monkeypatch, "broker.test", broker.node)
        named = Node("broker.test", broker.node.port)
        with contextlib.closing(
            open_connection(named, client_id="tester", timeout_s=LIMIT_S, security=trusting())
        ) as connection:
            assert connection.address == named
    assert told == ["broker.test"]


def tls_error(reason: str | None, kind: type[ssl.SSLError] = ssl.SSLError) -> ssl.SSLError:
    error = kind(1, "it failed")
    error.reason = reason  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (tls_error("TLSV1_ALERT_UNKNOWN_CA"), FailureKind.AUTHENTICATION, "(tlsv1 alert unknown ca)"),
        (tls_error("SSLV3_ALERT_BAD_CERTIFICATE"), FailureKind.AUTHENTICATION, "(sslv3 alert bad certificate)"),
        (tls_error("TLSV1_ALERT_INTERNAL_ERROR"), FailureKind.UNREACHABLE, "reached: tlsv1 alert internal error"),
        (tls_error("CERTIFICATE_TOO_LONG"), FailureKind.UNREACHABLE, "reached: certificate too long"),
        (tls_error("WRONG_VERSION_NUMBER"), FailureKind.NOT_KAFKA, "does not speak TLS"),
        (tls_error("HTTP_REQUEST"), FailureKind.NOT_KAFKA, "does not speak TLS"),
        (tls_error("RECORD_LAYER_FAILURE"), FailureKind.NOT_KAFKA, "does not speak TLS"),
        (tls_error("PACKET_LENGTH_TOO_LONG"), FailureKind.NOT_KAFKA, "does not speak TLS"),
        (tls_error(None), FailureKind.UNREACHABLE, "cannot be reached: "),
        (tls_error("UNEXPECTED_EOF", ssl.SSLEOFError), FailureKind.UNREACHABLE, "broke off the TLS handshake"),
        (ConnectionResetError("reset"), FailureKind.UNREACHABLE, "broke off the TLS handshake"),
        (BrokenPipeError("pipe"), FailureKind.UNREACHABLE, "broke off the TLS handshake"),
        (HungUp("closed"), FailureKind.UNREACHABLE, "closed the connection after the TLS handshake"),
        (ConnectionRefusedError("refused"), FailureKind.UNREACHABLE, "cannot be reached: refused"),
        (socket.gaierror(-2, "unknown"), FailureKind.UNREACHABLE, "cannot be reached: "),
    ],
    ids=str,
)
def test_each_error_of_a_handshake_has_its_words(error: Any, kind: FailureKind, words: str) -> None:
    """Also those of other versions of OpenSSL, and of systems that reset where others hang up."""
    told, said = explain(error)
    assert told is kind
    assert words in said
