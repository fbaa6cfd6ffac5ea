"""The messages of GSSAPI, by the rules of RFC 4752, with a library in place of gssapi that needs no Kerberos."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from membership_client import Security
from membership_client.core.events import FailureKind
from membership_client.net.channel import OpenFailed
from membership_client.net.opening import open_connection
from membership_client.security import keys
from tests.net.patience import LIMIT_S
from tests.net.scripted_broker import Peer, ScriptedBroker
from tests.net.test_authentication import OFFER, authenticated, shake_hands

KERBEROS = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "gssapi"}


class GSSError(Exception):
    """The error of the library."""


class FakeContext:
    """The client's context: sends its name, accepts "mutual" as the broker's proof, and wraps by a letter in front."""

    def __init__(self, library: FakeLibrary, **made: Any) -> None:
        self._library = library
        self.made = made
        self.complete = False

    def step(self, token: bytes | None = None) -> bytes | None:
        if self._library.no_ticket:
            raise GSSError("No Kerberos credentials available")
        if token is None:
            return b"ticket"
        if token != b"mutual":
            raise GSSError("A token was invalid")
        self.complete = True
        return None

    def wrap(self, message: bytes, encrypt: bool) -> Any:
        assert not encrypt
        return types.SimpleNamespace(message=b"w" + message)

    def unwrap(self, message: bytes) -> Any:
        if not message.startswith(b"w"):
            raise GSSError("A token had an invalid MIC")
        return types.SimpleNamespace(message=message[1:])


class FakeLibrary(types.ModuleType):
    """The names of gssapi that are used."""

    exceptions = types.SimpleNamespace(GSSError=GSSError)
    NameType = types.SimpleNamespace(hostbased_service="service", user="user")
    RequirementFlag = types.SimpleNamespace(mutual_authentication=1, integrity=2)

    def __init__(self) -> None:
        super().__init__("gssapi")
        self.no_ticket = False
        self.contexts: list[FakeContext] = []

    def Name(self, name: str, kind: str) -> tuple[str, str]:  # noqa: N802 - gssapi's
        return name, kind

    def Credentials(self, **made: Any) -> dict[str, Any]:  # noqa: N802 - gssapi's
        return made

    def SecurityContext(self, **made: Any) -> FakeContext:  # noqa: N802 - gssapi's
        self.contexts.append(FakeContext(self, **made))
        return self.contexts[-1]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> FakeLibrary:
    made = FakeLibrary()
    monkeypatch.setitem(sys.modules, "gssapi", made)
    monkeypatch.setattr(keys, "_is_there", lambda module: module == "gssapi")
    return made


class Conversation:
    """A broker that gives these answers, and keeps the client's messages."""

    def __init__(self, *said: bytes) -> None:
        self.heard: list[bytes] = []
        self._said = said

    def __call__(self, peer: Peer) -> None:
        peer.welcome(OFFER)
        shake_hands(peer)
        for answer in self._said:
            asked = peer.request()
            self.heard.append(bytes(asked.message.auth_bytes))
            peer.answer(asked, authenticated(answer))
        peer.wait_for_close()


def converse(conversation: Conversation, config: dict[str, Any]) -> str:
    """Have the conversation, close the connection; returns the host."""
    with ScriptedBroker(conversation) as broker:
        security = Security.from_dict(config)
        open_connection(broker.node, client_id="tester", timeout_s=LIMIT_S, security=security).close()
        return broker.node.host


def test_a_whole_conversation(library: FakeLibrary) -> None:
    """It has a ticket, the broker's proof, and no security layer: the client sends three messages."""
    conversation = Conversation(b"mutual", b"w\x07\x00\x10\x00", b"")
    host = converse(conversation, KERBEROS)
    assert conversation.heard == [b"ticket", b"", b"w\x01\x00\x00\x00"]
    (context,) = library.contexts
    assert context.made == {"name": (f"kafka@{host}", "service"), "creds": None, "usage": "initiate", "flags": 3}


def test_another_service_and_a_keytab(library: FakeLibrary) -> None:
    """The ticket is taken from the keytab, for that principal."""
    more = {
        "sasl.kerberos.service.name": "broker",
        "sasl.kerberos.principal": "till@SHOP",
        "sasl.kerberos.keytab": "/etc/till.keytab",
    }
    host = converse(Conversation(b"mutual", b"w\x01\x00\x00\x00", b""), KERBEROS | more)
    made = library.contexts[0].made
    assert made["name"] == (f"broker@{host}", "service")
    assert made["creds"] == {
        "name": ("till@SHOP", "user"),
        "usage": "initiate",
        "store": {"client_keytab": "/etc/till.keytab"},
    }


def test_a_keytab_alone(library: FakeLibrary) -> None:
    """Its first principal is used."""
    converse(
        Conversation(b"mutual", b"w\x01\x00\x00\x00", b""), KERBEROS | {"sasl.kerberos.keytab": "/etc/till.keytab"}
    )
    made = library.contexts[0].made["creds"]
    assert made == {"name": None, "usage": "initiate", "store": {"client_keytab": "/etc/till.keytab"}}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((b"junk",), "A token was invalid"),
        ((b"mutual", b"junk"), "A token had an invalid MIC"),
        ((b"mutual", b"w\x06\x00\x10\x00"), "wants a security layer"),
        ((b"mutual", b"w\x01"), "wants a security layer"),
    ],
)
def test_a_broker_that_does_not_keep_to_the_rules(library: FakeLibrary, said: tuple[bytes, ...], told: str) -> None:
    """A broker that cannot prove to be the service is refused."""
    with pytest.raises(OpenFailed, match=told) as failed:
        converse(Conversation(*said), KERBEROS)
    assert failed.value.kind is FailureKind.AUTHENTICATION


def test_no_ticket_is_a_passing_problem(library: FakeLibrary) -> None:
    """The member tries again, because `kinit`, or a key distribution centre that is back, mends it."""
    library.no_ticket = True
    with pytest.raises(
        OpenFailed, match=r"no Kerberos ticket for kafka@.*: No Kerberos credentials available"
    ) as failed:
        converse(Conversation(), KERBEROS)
    assert failed.value.kind is FailureKind.UNREACHABLE
