"""Sessions that brokers end after a while (KIP-368): the member says again who it is, and nothing else happens."""

from __future__ import annotations

import time
from typing import Any

import pytest

from membership_client import GroupMember, MemberState
from membership_client.core.events import Failed
from membership_client.core.machine import Step
from tests.security.secure_kafka import (
    PATIENCE_S,
    PLAIN_PASSWORD,
    RENEWED_EVERY_MS,
    SCRAM_PASSWORD,
    USER,
    SecureKafka,
)
from tests.security.token_endpoint import TokenEndpoint

pytestmark = pytest.mark.kafka

SESSIONS_S = 2.5 * RENEWED_EVERY_MS / 1000


def descriptors(member: GroupMember) -> set[int]:
    links = member._transport._links.values()
    return {link.connection.fileno() for link in links if link.connection is not None}


def live_through(config: dict[str, Any], topic: str) -> None:
    """Over more than two sessions, with commits in between: one connection, no failure, no loss."""
    steps: list[Step] = []
    with GroupMember({**config, "group.id": topic}, observers=[steps.append]) as member:
        member.subscribe([topic])
        owned = member.wait_until(lambda s: s.state is MemberState.STABLE and len(s.owned) == 2, PATIENCE_S).owned
        used, ends = set[int](), time.monotonic() + SESSIONS_S
        while time.monotonic() < ends:
            member.commit(dict.fromkeys(owned, int(time.monotonic())))
            used |= descriptors(member)
            time.sleep(0.02)
        assert len(used) == 1
        assert member.snapshot.state is MemberState.STABLE
    assert not [step for step in steps if isinstance(step.event, Failed)]


def test_with_a_password(secured: SecureKafka) -> None:
    """PLAIN has one exchange."""
    password = {"sasl_mechanism": "PLAIN", "sasl_username": USER, "sasl_password": PLAIN_PASSWORD}
    live_through(secured.at("SHORT", **password), secured.new_topic())


def test_with_scram(secured: SecureKafka) -> None:
    """SCRAM has three exchanges, between which requests wait."""
    password = {"sasl_mechanism": "SCRAM-SHA-256", "sasl_username": USER, "sasl_password": SCRAM_PASSWORD}
    live_through(secured.at("SHORT", **password), secured.new_topic())


def test_with_tokens(secured: SecureKafka, endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session lasts no longer than its token, so each has a new one, and heartbeats do not wait for the endpoint."""
    monkeypatch.setattr(endpoint, "life_s", 2.5)
    given = len(endpoint.given)
    oidc = {key: value for key, value in secured.ways_in(endpoint.url)["oidc"].items() if key.startswith("sasl.")}
    live_through(secured.at("SHORT") | oidc, secured.new_topic())
    assert len(endpoint.given) - given >= 3
