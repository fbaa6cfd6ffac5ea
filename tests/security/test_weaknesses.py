"""Warnings about a configuration with which others in the network can read or change the traffic."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from membership_client import GroupMember, Security
from membership_client.admin import GroupAdmin
from membership_client.security import settings
from membership_client.security.settings import weaknesses_of, with_password

PASSWORD = "password-Rk48"
CLIENT_SECRET = "client-secret-Ow15"
PLAIN = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
SCRAM = PLAIN | {"sasl.mechanism": "SCRAM-SHA-512"}
TOKEN = {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: ("token", 1e10)}
UNSECURED = {
    "sasl.mechanism": "OAUTHBEARER",
    "enable.sasl.oauthbearer.unsecure.jwt": "true",
    "sasl.oauthbearer.config": "principal=alice",
}
UNVERIFIED = {"security.protocol": "ssl", "enable.ssl.certificate.verification": False}


def oidc(url: str) -> dict[str, Any]:
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "alice",
        "sasl.oauthbearer.client.secret": CLIENT_SECRET,
        "sasl.oauthbearer.token.endpoint.url": url,
    }


def azure(url: str) -> dict[str, Any]:
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.metadata.authentication.type": "azure_imds",
        "sasl.oauthbearer.token.endpoint.url": url,
    }


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, []),
        ({"security.protocol": "ssl"}, []),
        (UNVERIFIED, ["not verified"]),
        ({"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"}, ["any host"]),
        ({"security.protocol": "sasl_plaintext", **PLAIN}, ["the password crosses"]),
        ({"security.protocol": "sasl_ssl", **PLAIN}, []),
        ({"security.protocol": "sasl_plaintext", **SCRAM}, []),
        ({"security.protocol": "sasl_plaintext", **TOKEN}, ["the token crosses"]),
        ({"security.protocol": "sasl_ssl", **oidc("https://id.test/token")}, []),
        ({"security.protocol": "sasl_ssl", **oidc("http://id.test/token")}, ["token.endpoint.url is http"]),
        ({"security.protocol": "sasl_ssl", **azure("http://id.test/token")}, ["token.endpoint.url is http"]),
        ({"security.protocol": "sasl_ssl", **azure("http://10.0.0.5/token")}, ["token.endpoint.url is http"]),
        ({"security.protocol": "sasl_ssl", **azure("http://169.254.169.254/token")}, []),
        ({"security.protocol": "sasl_ssl", **azure("http://localhost:40342/token")}, []),
        ({"security.protocol": "sasl_ssl", **azure("http://[::1]:40342/token")}, []),
        ({"security.protocol": "sasl_ssl", **UNSECURED}, ["anyone can make one"]),
        (
            {"security.protocol": "sasl_plaintext", **oidc("http://id.test/token?key=hidden")},
            ["the token crosses", "token.endpoint.url is http"],
        ),
    ],
)
def test_each_weakness_is_named_and_nothing_secret_is(config: dict[str, Any], words: list[str]) -> None:
    """A sound configuration has no warning."""
    security = Security.from_dict(config)
    found = weaknesses_of(security)
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))
    for secret in (PASSWORD, CLIENT_SECRET, "hidden"):
        assert secret not in f"{found}{security!r}"


def test_a_weakness_is_logged_once_whoever_has_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first member or administrator of a process logs it, because there may be hundreds."""
    monkeypatch.setattr(settings, "_said", set())
    config = {"bootstrap.servers": "127.0.0.1:1", **UNVERIFIED}
    with caplog.at_level(logging.WARNING, "membership_client"):
        for _ in range(2):
            GroupMember({**config, "group.id": "weak"}).close()
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        settings._said.clear()
        GroupAdmin(config).close()
    assert len(caplog.records) == 2
    assert "enable.ssl.certificate.verification=false" in caplog.text


def test_other_credentials_keep_everything_else() -> None:
    """The original value does not change."""
    before = Security.from_dict({"security.protocol": "sasl_ssl", **SCRAM})
    after = with_password(before, "bob", "password-Bn90")
    assert after.tls == before.tls
    assert (before.sasl, after.sasl) != (after.sasl, before.sasl)
    assert after.sasl is not None
    assert (after.sasl.mechanism, after.sasl.username) == ("SCRAM-SHA-512", "bob")
    assert "Bn90" not in repr(after)
