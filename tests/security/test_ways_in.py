"""Every mechanism, with a real broker: a member joins, and a consumer reads."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from membership_client import GroupMember, MemberConfig, MemberState, Security, aio
from tests.security.secure_kafka import PATIENCE_S, WAYS_IN, SecureKafka
from tests.security.token_endpoint import TokenEndpoint
from tests.security.using import join_and_commit, read_a_record

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_member_joins(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """It owns its partitions, commits, and leaves, all over such connections."""
    join_and_commit(secured, secured.ways_in(endpoint.url)[way])


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_consumer_reads(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """One configuration serves fetching and membership."""
    read_a_record(secured, secured.ways_in(endpoint.url)[way])


def test_a_member_on_a_loop(secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """It gets its security beside its configuration."""
    topic = secured.new_topic()
    config = secured.ways_in(endpoint.url)["scram-512"]
    plain = MemberConfig(bootstrap_servers=config.pop("bootstrap.servers"), group_id=topic)

    async def run() -> None:
        async with aio.GroupMember(plain, security=Security.from_dict(config)) as member:
            member.subscribe([topic])
            await member.wait_until(MemberState.STABLE, PATIENCE_S)

    asyncio.run(run())


def joins(config: dict[str, Any], topic: str) -> None:
    with GroupMember({**config, "group.id": topic}) as member:
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)


def test_a_directory_of_authorities(secured: SecureKafka) -> None:
    """Operating systems store them like this."""
    directory = secured.certificates.hashed(secured.certificates.authority)
    joins(secured.at("TLS") | {"ssl.ca.location": str(directory)}, secured.new_topic())


@pytest.mark.parametrize("location", [{}, {"ssl.ca.location": "probe"}], ids=["nothing", "probe"])
def test_the_authorities_of_the_system(
    location: dict[str, str], secured: SecureKafka, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are trusted if none are configured; here an environment variable tells OpenSSL where they are."""
    monkeypatch.setenv("SSL_CERT_FILE", str(secured.certificates.authority))
    config = {key: value for key, value in secured.at("TLS").items() if key != "ssl.ca.location"} | location
    # With a key of its own, because contexts are kept, and another test's may know other authorities.
    key = shutil.copy(secured.certificates.key, tmp_path)
    certificate = {"ssl.certificate.location": str(secured.certificates.certificate), "ssl.key.location": str(key)}
    joins(config | certificate, secured.new_topic())


@pytest.mark.parametrize("form", ["location", "pem"])
def test_a_token_endpoint_under_tls(form: str, secured: SecureKafka) -> None:
    """Its authority has keys of its own, and extensions reach the broker with the token."""
    authority = secured.certificates.authority
    trusted = {f"https.ca.{form}": str(authority) if form == "location" else authority.read_text()}
    with TokenEndpoint(secured.certificates.leaf("127.0.0.1")) as endpoint:
        assert endpoint.url.startswith("https://")
        config = secured.ways_in(endpoint.url)["oidc"] | trusted
        joins(config | {"sasl.oauthbearer.extensions": "tenant=red,floor=two"}, secured.new_topic())
        assert endpoint.given
