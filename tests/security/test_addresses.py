"""Addresses that are brokers', and are hard to reach all the same."""

from __future__ import annotations

import pytest

from membership_client import ConnectionProblem, GroupMember, MemberState
from membership_client.config import parse_bootstrap
from membership_client.types import Node
from tests.net.names import resolve_to
from tests.security.secure_kafka import PATIENCE_S, SecureKafka, has_ipv6

pytestmark = pytest.mark.kafka


def test_an_advertised_address_that_cannot_be_reached(secured: SecureKafka) -> None:
    """Bootstrap works, and the address that fails is in nobody's configuration here: the error says whose it is."""
    topic = secured.new_topic()
    with GroupMember({**secured.at("LOST"), "group.id": topic}) as member:
        member.subscribe([topic])
        found = member.wait_until(lambda snapshot: "advertises" in str(snapshot.error), PATIENCE_S)
        assert isinstance(found.error, ConnectionProblem)
        assert "127.0.0.1:1" in str(found.error)
        assert "the address that broker 1 advertises: see its advertised.listeners" in str(found.error)
        member.close(timeout_s=0.5)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
def test_ipv6(secured: SecureKafka) -> None:
    """In the bootstrap list and as an advertised address."""
    topic = secured.new_topic()
    with GroupMember({**secured.at("SIX"), "group.id": topic}) as member:
        assert secured.at("SIX")["bootstrap.servers"].startswith("[::1]:")
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)


def test_a_name_with_several_addresses_and_tls(secured: SecureKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at one, and at another listens whom we do not trust; the certificate is for the name."""
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
