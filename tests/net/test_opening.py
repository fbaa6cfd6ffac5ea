"""Opening connections: good brokers, old brokers, and whatever else may listen on a port."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme

from membership_client.core.events import FailureKind
from membership_client.net.channel import OpenFailed, time_left
from membership_client.net.opening import open_connection
from membership_client.security import PLAINTEXT, Security
from membership_client.types import Node
from tests.net import answers
from tests.net.answers import framed
from tests.net.names import resolve_to
from tests.net.patience import LIMIT_S
from tests.net.scripted_broker import Peer, ScriptedBroker, black_hole, stay

if TYPE_CHECKING:
    from membership_client.net.connection import Connection


def opened(address: Node, timeout_s: float = LIMIT_S) -> Connection:
    return open_connection(address, client_id="tester", timeout_s=timeout_s)


def failure(address: Node, timeout_s: float = LIMIT_S) -> tuple[FailureKind, str]:
    with pytest.raises(OpenFailed) as caught:
        opened(address, timeout_s)
    return caught.value.kind, caught.value.detail


def unused() -> Node:
    """An address at which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Node("127.0.0.1", listener.getsockname()[1])


def test_a_modern_broker_is_asked_in_a_modern_way() -> None:
    """The first request says who we are, in the newest version of ApiVersions that we speak."""
    seen = []

    def script(peer: Peer) -> None:
        asked = peer.request()
        seen.append(asked)
        peer.answer(asked, answers.api_versions(asked.version, {68: (0, 1)}))
        peer.wait_for_close()

    with ScriptedBroker(script) as broker, contextlib.closing(opened(broker.node)) as connection:
        assert connection.address == broker.node
    (asked,) = seen
    assert (asked.version, asked.client_id) == (3, "tester")
    assert asked.message.client_software_name == "membership-client"


def test_the_socket_is_tuned_for_small_and_rare_requests() -> None:
    """No delay for a heartbeat, and probes that give up a peer that is gone after 35 s."""
    with ScriptedBroker(stay) as broker, contextlib.closing(opened(broker.node)) as connection:
        assert not os.get_blocking(connection.fileno())
        with socket.socket(fileno=os.dup(connection.fileno())) as copy:
            assert connection.channel.socket.gettimeout() == 0
            assert copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert copy.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            idle_s, between_s, probes = (copy.getsockopt(socket.IPPROTO_TCP, option) for option in options)
            assert (idle_s, between_s, probes) == (20, 5, 3)


def test_an_old_broker_is_asked_again_in_the_oldest_way() -> None:
    """A broker that does not know our ApiVersions says so in version 0, and is then asked in it (KIP-511)."""
    versions = []

    def script(peer: Peer) -> None:
        asked = peer.request()
        peer.answer(asked, answers.api_versions(0, {18: (0, 2)}, error=35))
        again = peer.request()
        peer.answer(again, answers.api_versions(0, {68: (1, 1)}))
        versions.extend([asked.version, again.version])
        peer.wait_for_close()

    with ScriptedBroker(script) as broker, contextlib.closing(opened(broker.node)):
        assert broker.connections == 1
    assert versions == [3, 0]


def test_a_broker_that_hangs_up_is_asked_again_in_the_oldest_way() -> None:
    """On a new connection, because the old one is gone."""
    versions = []

    def hang_up(peer: Peer) -> None:
        versions.append(peer.request().version)

    def serve(peer: Peer) -> None:
        asked = peer.request()
        versions.append(asked.version)
        peer.answer(asked, answers.api_versions(0, {68: (1, 1)}))
        peer.wait_for_close()

    with ScriptedBroker(hang_up, serve) as broker, contextlib.closing(opened(broker.node)):
        pass
    assert versions == [3, 0]


def test_a_broker_may_refuse_to_tell_its_versions() -> None:
    """It is a Kafka broker, and of no use: the error number is in the text."""

    def script(peer: Peer) -> None:
        asked = peer.request()
        peer.answer(asked, answers.api_versions(asked.version, {}, error=42))

    with ScriptedBroker(script) as broker:
        kind, detail = failure(broker.node)
    assert kind is FailureKind.UNREACHABLE
    assert "error 42" in detail


def test_nobody_listens() -> None:
    """The text names the address and the system's reason."""
    node = unused()
    kind, detail = failure(node)
    assert kind is FailureKind.UNREACHABLE
    assert str(node) in detail
    assert detail.endswith("refused")


def hang_up(_: Peer) -> None:
    """A script: a proxy without a broker."""


def be_strange(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_every_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the end: an address that accepts connections and is no broker's was chosen again and again."""
    scripts = (hang_up, be_strange, Peer.wait_for_close, stay)
    with contextlib.ExitStack() as started:
        *bad, broker = [started.enter_context(ScriptedBroker(script)) for script in scripts]
        nobody = (Node("::1", broker.node.port), unused())
        resolve_to(monkeypatch, "broker.test", *nobody, *(each.node for each in bad), broker.node)
        with contextlib.closing(opened(Node("broker.test", 9092), timeout_s=5)) as connection:
            assert connection.address == Node("broker.test", 9092)
        assert broker.connections == 1


def test_no_address_of_a_name_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names all addresses, and an address that answered decides its kind."""
    with ScriptedBroker(be_strange) as stranger:
        resolve_to(monkeypatch, "broker.test", Node("127.0.0.2", unused().port), stranger.node)
        kind, detail = failure(Node("broker.test", 9092))
    assert kind is FailureKind.NOT_KAFKA
    assert "broker.test:9092 (127.0.0.2)" in detail
    assert "broker.test:9092 (127.0.0.1) did not answer like a Kafka broker" in detail


@pytest.mark.parametrize(
    "node", [Node("x" * 70, 9092), Node("127.0.0.1", 70_000), Node("127.0.0.1", -1), Node("a\0b", 1)]
)
@pytest.mark.parametrize("security", [PLAINTEXT, Security.from_dict({"security.protocol": "ssl"})], ids=str)
def test_an_impossible_address_is_unreachable(node: Node, security: Security) -> None:
    """A broker may advertise nonsense; that is not our programming error."""
    with pytest.raises(OpenFailed) as caught:
        open_connection(node, client_id="tester", timeout_s=LIMIT_S, security=security)
    assert caught.value.kind is FailureKind.UNREACHABLE
    assert str(node) in caught.value.detail


def no_token(_: str) -> tuple[str, float]:
    raise RuntimeError("the vault is sealed")


def test_other_addresses_are_not_tried_for_a_reason_on_this_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a token each of them would be asked in vain, and each waits for the callback anew."""
    offer = {17: (0, 1), 36: (0, 2)}

    def welcome(peer: Peer) -> None:
        peer.welcome(offer)
        asked = peer.request()
        wire = answers.module(17, 1)
        peer.answer(asked, wire.SaslHandshakeResponse(error_code=answers.Code(0), mechanisms=("OAUTHBEARER",)))
        peer.wait_for_close()

    security = Security.from_dict(
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": no_token}
    )
    with ScriptedBroker(welcome) as first, ScriptedBroker(welcome) as second:
        resolve_to(monkeypatch, "broker.test", first.node, second.node)
        with pytest.raises(OpenFailed, match="oauth_cb returned no") as caught:
            open_connection(Node("broker.test", 9092), client_id="tester", timeout_s=LIMIT_S, security=security)
        assert (first.connections, second.connections) == (1, 0)
    assert (caught.value.kind, caught.value.ours) == (FailureKind.UNREACHABLE, True)


def test_a_file_of_certificates_that_is_gone_is_a_reason_on_this_side(tmp_path: Path) -> None:
    """It was there when the member was made; no broker is asked, and the file may come back."""
    authority = tmp_path / "authority.pem"
    authority.write_bytes(trustme.CA().cert_pem.bytes())
    security = Security.from_dict({"security.protocol": "ssl", "ssl.ca.location": str(authority)})
    authority.unlink()
    with ScriptedBroker(stay) as broker, pytest.raises(OpenFailed, match="cannot connect to") as caught:
        open_connection(broker.node, client_id="tester", timeout_s=LIMIT_S, security=security)
    assert (caught.value.kind, caught.value.ours) == (FailureKind.UNREACHABLE, True)


def test_a_time_that_is_over_is_over() -> None:
    """As any other that ran out."""
    with pytest.raises(TimeoutError):
        time_left(time.monotonic() - 1)
    assert 0 < time_left(time.monotonic() + 60) <= 60


@pytest.mark.parametrize(
    ("said", "guess"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP server"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "TLS alert"),
        (b"220 mail.example ESMTP\r\n", "another service, or a TLS port"),
        (struct.pack(">i", -1), "another service, or a TLS port"),
        (struct.pack(">i", 2**31 - 1), "another service, or a TLS port"),
        (framed(b"\0" * 4), "correlation id"),
        (framed(struct.pack(">i", 1)), "error code"),
        (framed(struct.pack(">ihi", 1, 0, 2**30)), ""),
    ],
)
def test_strangers_are_not_kafka(said: bytes, guess: str) -> None:
    """Whatever listens there, the text says that it is no broker, and what it may be."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(said)
        peer.wait_for_close()

    with ScriptedBroker(script) as broker:
        kind, detail = failure(broker.node)
        assert broker.client_gone.wait(LIMIT_S)
        assert detail.startswith(f"{broker.node} did not answer like a Kafka broker")
    assert kind is FailureKind.NOT_KAFKA
    assert guess in detail


def test_a_peer_that_closes_at_once_is_unreachable() -> None:
    """A proxy without a broker behind it does that: it may work later, and nothing was said that is not Kafka."""
    with ScriptedBroker(lambda _: None) as broker:
        kind, detail = failure(broker.node)
    assert kind is FailureKind.UNREACHABLE
    assert "closed" in detail or "reset" in detail
    assert "reset" in detail or detail.endswith("is it a TLS port, or a proxy without a broker?")


@pytest.mark.parametrize("start", [b"", framed(b"\0" * 100)[:50]])
def test_a_silent_peer_is_given_up_in_time(start: bytes) -> None:
    """Whether it says nothing at all or stops in the middle of its answer."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(start)
        peer.wait_for_close()

    with ScriptedBroker(script) as broker:
        kind, detail = failure(broker.node, timeout_s=0.3)
        assert broker.client_gone.wait(LIMIT_S)
    assert kind is FailureKind.UNREACHABLE
    assert "did not answer within 0.3 s" in detail


def test_a_slow_peer_is_given_up_in_time() -> None:
    """Dribbling bytes does not stretch the limit."""

    def script(peer: Peer) -> None:
        peer.request()
        for octet in framed(b"\0" * 10_000):
            peer.send(bytes([octet]))
            time.sleep(0.01)

    with ScriptedBroker(script) as broker:
        started = time.monotonic()
        assert failure(broker.node, timeout_s=0.5)[0] is FailureKind.UNREACHABLE
        assert time.monotonic() - started < LIMIT_S


def test_a_swallowed_connect_is_given_up_in_time() -> None:
    """A firewall that drops packets looks like a listener whose queue is full."""
    with black_hole() as node:
        kind, detail = failure(node, timeout_s=0.3)
    assert kind is FailureKind.UNREACHABLE
    assert "timed out" in detail or "did not answer" in detail
