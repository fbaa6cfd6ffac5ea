"""Addresses of brokers that are hard to reach."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest

from membership_client import ConnectionProblem, GroupMember, MemberState
from membership_client.admin import GroupAdmin, NoAnswerError
from membership_client.config import parse_bootstrap
from membership_client.types import Node
from tests.net import answers
from tests.net.names import resolve_to
from tests.net.scripted_broker import Peer, ScriptedBroker, black_hole
from tests.security.secure_kafka import PATIENCE_S, SecureKafka, has_ipv6

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_an_advertised_address_that_cannot_be_reached(secured: SecureKafka) -> None:
    """Bootstrap works. The address that fails is in no configuration of the client: the error names the broker that advertises it."""
    topic = secured.new_topic()
    with GroupMember({**secured.at("LOST"), "group.id": topic}) as member:
        member.subscribe([topic])
        found = member.wait_until(lambda snapshot: "advertises" in str(snapshot.error), PATIENCE_S)
        assert isinstance(found.error, ConnectionProblem)
        assert "127.0.0.1:1" in str(found.error)
        assert "the address that broker 1 advertises: see its advertised.listeners" in str(found.error)
        member.close(timeout_s=0.5)


@contextlib.contextmanager
def names_a_black_hole() -> Iterator[tuple[Node, Node]]:
    """A broker that answers which broker coordinates, and the address that it names, whose packets are dropped."""
    with black_hole() as hole:

        def script(peer: Peer) -> None:
            peer.welcome()
            while True:
                asked = peer.request()
                assert asked.api_key == answers.FIND_COORDINATOR
                peer.answer(asked, answers.coordinator(asked.version, host=hole.host, port=hole.port, node_id=7))

        with ScriptedBroker(script) as broker:
            yield broker.node, hole


HINT = "the address that broker 7 advertises: see its advertised.listeners"


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_an_advertised_address_whose_packets_are_dropped(protocol: str) -> None:
    """The error is the same as for a refused connection; the request's timeout once came just before that of connecting."""
    with names_a_black_hole() as (bootstrap, hole):
        times = {"request.timeout.ms": 1000, "socket.connection.setup.timeout.ms": 1200}
        config = {"bootstrap.servers": str(bootstrap), "group.id": "g", "group.protocol": protocol}
        with GroupMember(config | times) as member:
            member.subscribe(["orders"])
            # The time says that connecting was given up before the request was; otherwise it is luck who is told.
            told = re.compile(rf"{hole} did not answer within 0\.\d+ s \({HINT}\)")
            found = member.wait_until(lambda snapshot: bool(told.search(str(snapshot.error))), PATIENCE_S)
            assert isinstance(found.error, ConnectionProblem)
            member.close(timeout_s=0.5)


def test_an_administrator_at_an_advertised_address_whose_packets_are_dropped() -> None:
    """An administrator has one timeout for both, which once ended together as well."""
    with (
        names_a_black_hole() as (bootstrap, _),
        GroupAdmin({"bootstrap.servers": str(bootstrap)}, timeout_s=4) as admin,
        pytest.raises(NoAnswerError, match=HINT),
    ):
        admin.describe("g")


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
def test_ipv6(secured: SecureKafka) -> None:
    """The address is in the bootstrap list, and an advertised address."""
    topic = secured.new_topic()
    with GroupMember({**secured.at("SIX"), "group.id": topic}) as member:
        assert secured.at("SIX")["bootstrap.servers"].startswith("[::1]:")
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)


def test_a_name_with_several_addresses_and_tls(secured: SecureKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """No server listens at one address, and an untrusted one at another; the certificate is for the name."""
    topic = secured.new_topic()
    (nobody, stranger, broker) = (
        Node("127.0.0.1", 1),
        *(parse_bootstrap(secured.cluster.address_of(listener))[0] for listener in ("EXPIRED", "TLS")),
    )
    resolve_to(monkeypatch, "localhost", nobody, stranger, broker)
    config = {**secured.at("TLS"), "bootstrap.servers": f"localhost:{broker.port}", "group.id": topic}
    with GroupMember(config) as member:
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
