"""Brokers that refuse the client, and brokers that the client refuses: the errors are fatal, come at once, and differ."""

from __future__ import annotations

import re

import pytest

from membership_client import (
    AuthenticationError,
    CertificateError,
    ConnectionProblem,
    FatalError,
    GroupMember,
    MembershipError,
    MemberState,
    NotKafkaError,
)
from tests.security.secure_kafka import CLIENT_SECRET, PATIENCE_S, USER, SecureKafka, make_token
from tests.security.token_endpoint import TokenEndpoint

pytestmark = pytest.mark.kafka


def error_of(config: dict[str, object]) -> MembershipError:
    """The first error of a member with this configuration."""
    with GroupMember({**config, "group.id": "never-joined"}) as member:
        member.subscribe(["anything"])
        found = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
        assert found.error is not None
        ended = isinstance(found.error, FatalError)
        assert found.state is (MemberState.FATAL if ended else MemberState.JOINING)
        return found.error


def end_of(config: dict[str, object]) -> MembershipError:
    """The error with which it ends: a reset may come before the broker's message after the handshake, and is temporary."""
    with GroupMember({**config, "group.id": "never-joined"}) as member:
        member.subscribe(["anything"])
        found = member.wait_until(MemberState.FATAL, PATIENCE_S)
        assert found.error is not None
        return found.error


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("listener", ["SASL", "SASLTLS"])
def test_a_wrong_password(mechanism: str, listener: str, secured: SecureKafka) -> None:
    """The error has the mechanism, the user and the broker's text, and never the password."""
    config = secured.at(listener, sasl_mechanism=mechanism, sasl_username=USER, sasl_password="hunter2")
    error = error_of(config)
    assert isinstance(error, AuthenticationError)
    assert f"{mechanism} authentication of {USER}" in str(error)
    assert "Authentication failed" in str(error)
    assert "hunter2" not in str(error)


def test_an_expired_token(secured: SecureKafka) -> None:
    """The error has the broker's text, and not the token."""
    token = make_token(life_s=-3600)
    config = secured.at("SASL", sasl_mechanism="OAUTHBEARER", oauth_cb=lambda _: (token, 0.0))
    error = error_of(config)
    assert isinstance(error, AuthenticationError)
    assert "invalid_token" in str(error)
    assert token not in str(error)


def test_a_callback_that_has_no_token(secured: SecureKafka) -> None:
    """It may have one later, so the member keeps trying. The exception's text may contain a secret, and is not shown."""

    def fail(_config: str) -> tuple[str, float]:
        raise RuntimeError("no session for hunter2")

    error = error_of(secured.at("SASL", sasl_mechanism="OAUTHBEARER", oauth_cb=fail))
    assert isinstance(error, ConnectionProblem)
    assert "RuntimeError" in str(error)
    assert "hunter2" not in str(error)


def test_a_wrong_client_secret(secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """The error has the endpoint's answer, without the secret, even if the answer contains it."""
    config = secured.ways_in(endpoint.url)["oidc"] | {"sasl.oauthbearer.client.secret": "hunter2"}
    error = error_of(config)
    assert isinstance(error, ConnectionProblem)
    assert "HTTP status 401, invalid_client" in str(error)
    assert "hunter2" not in str(error)
    assert CLIENT_SECRET not in str(error)


def test_a_mechanism_that_the_broker_does_not_have(secured: SecureKafka) -> None:
    """The error has the mechanisms that the broker has."""
    config = secured.at("FEW", sasl_mechanism="SCRAM-SHA-512", sasl_username=USER, sasl_password="hunter2")
    error = error_of(config)
    assert isinstance(error, AuthenticationError)
    assert re.search("does not offer SCRAM-SHA-512, but .*PLAIN.*: check sasl.mechanism", str(error))


@pytest.mark.parametrize(
    ("listener", "authority", "told"),
    [
        ("TLS", "stranger", "no authority we trust has signed: check ssl.ca.location"),
        ("OTHERHOST", "authority", "is for another host"),
        ("EXPIRED", "authority", "has expired"),
    ],
)
def test_a_certificate_that_is_not_trusted(listener: str, authority: str, told: str, secured: SecureKafka) -> None:
    """The advice differs from one reason to the next."""
    config = secured.at(listener) | {"ssl.ca.location": str(getattr(secured.certificates, authority))}
    error = error_of(config)
    assert isinstance(error, CertificateError)
    assert told in str(error)
    assert config["bootstrap.servers"] in str(error)


@pytest.mark.parametrize(("listener", "authority"), [("TLS", "stranger"), ("EXPIRED", "authority")])
def test_without_the_hosts_name_the_rest_is_still_checked(listener: str, authority: str, secured: SecureKafka) -> None:
    """The signature and the dates of the certificate are checked."""
    trusted = {"ssl.ca.location": str(getattr(secured.certificates, authority))}
    error = error_of(secured.at(listener) | trusted | {"ssl.endpoint.identification.algorithm": "none"})
    assert isinstance(error, CertificateError)


def test_only_by_name_are_checks_switched_off(secured: SecureKafka) -> None:
    """One key switches off the check of the host name, another all checks."""
    topic = secured.new_topic()
    other_host = secured.at("OTHERHOST") | {"ssl.endpoint.identification.algorithm": "none"}
    unknown = secured.at("EXPIRED") | {"enable.ssl.certificate.verification": "false"}
    for config in (other_host, unknown):
        with GroupMember({**config, "group.id": topic}) as member:
            member.subscribe([topic])
            member.wait_until(MemberState.STABLE, PATIENCE_S)


def test_a_broker_that_wants_a_certificate(secured: SecureKafka) -> None:
    """With TLS 1.3 it says so only after the handshake; the error is not just a closed connection."""
    error = end_of(secured.at("MUTUAL"))
    assert isinstance(error, AuthenticationError)
    assert "our certificate" in str(error)


def test_a_certificate_of_another_authority(secured: SecureKafka) -> None:
    """The certificate is valid, but the broker does not know its authority."""
    foreign = str(secured.certificates.foreign)
    error = end_of(secured.at("MUTUAL") | {"ssl.certificate.location": foreign, "ssl.key.location": foreign})
    assert isinstance(error, AuthenticationError)
    assert "our certificate" in str(error)


def test_a_token_endpoint_that_is_not_trusted(secured: SecureKafka) -> None:
    """It does not get the client's secret. It may be mended, so the member keeps trying."""
    with TokenEndpoint(secured.certificates.leaf("127.0.0.1")) as endpoint:
        stranger = {"https.ca.location": str(secured.certificates.stranger)}
        error = error_of(secured.ways_in(endpoint.url)["oidc"] | stranger)
        assert not endpoint.given
    assert isinstance(error, ConnectionProblem)
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert CLIENT_SECRET not in str(error)


@pytest.mark.parametrize(
    ("listener", "protocol", "kind", "told"),
    [
        ("LOST", "ssl", ConnectionProblem, "plain-text port"),
        ("SASL", "ssl", ConnectionProblem, "plain-text port"),
        ("TLS", "plaintext", NotKafkaError, "TLS port"),
        ("SASL", "plaintext", ConnectionProblem, "security.protocol"),
        ("SASLTLS", "ssl", ConnectionProblem, "security.protocol"),
        ("LOST", "sasl_plaintext", AuthenticationError, "security.protocol"),
        ("TLS", "sasl_ssl", AuthenticationError, "security.protocol"),
    ],
)
def test_the_wrong_protocol(
    listener: str, protocol: str, kind: type[MembershipError], told: str, secured: SecureKafka
) -> None:
    """On either side, the error names the address and the setting to look at."""
    config: dict[str, object] = {
        "bootstrap.servers": secured.cluster.address_of(listener),
        "security.protocol": protocol,
    }
    if protocol.startswith("sasl"):
        config |= {"sasl.mechanism": "PLAIN", "sasl.username": USER, "sasl.password": "hunter2"}
    if protocol.endswith("ssl"):
        config |= {"ssl.ca.location": str(secured.certificates.authority)}
    error = error_of(config)
    assert isinstance(error, kind)
    assert told in str(error)
