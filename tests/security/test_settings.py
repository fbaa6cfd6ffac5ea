"""The security part of a configuration is accepted or refused when the member is made, and never shown."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from membership_client import ConfigError, GroupMember, MemberConfig, Security
from membership_client.security import PLAINTEXT
from membership_client.security.tls_context import context_of
from tests.security.certificates import KEY_PASSWORD, STORE_PASSWORD, Certificates

PASSWORD = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "hunter2"}
OIDC = {
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "alice",
    "sasl.oauthbearer.client.secret": "hunter2",
    "sasl.oauthbearer.token.endpoint.url": "https://idp.test/token",
}


def give_token(config: str) -> tuple[str, float]:
    """A function of a module, so that it could be pickled."""
    return f"token for {config}", 0.0


CALLBACK = {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": give_token, "sasl.oauthbearer.config": "secret=hunter2"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def secured(protocol: str, *parts: dict[str, Any], **more: Any) -> Security:
    merged = {key: value for part in parts for key, value in part.items()}
    return Security.from_dict({"security.protocol": protocol, **merged, **more})


def test_nothing_said_is_plain_text() -> None:
    """This is librdkafka's default."""
    assert Security.from_dict({}) == PLAINTEXT
    assert PLAINTEXT.protocol == "plaintext"


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "sasl_plaintext", "Sasl_Plaintext"])
def test_names_are_librdkafkas(protocol: str) -> None:
    """They may be in any case, dotted or with underscores; a mechanism has two names."""
    by_keyword = Security.from_dict(
        {
            "security_protocol": protocol,
            "sasl_mechanisms": "plain",
            "sasl_username": "alice",
            "sasl_password": "hunter2",
        }
    )
    assert by_keyword == secured(protocol, PASSWORD)
    assert by_keyword.protocol == "sasl_plaintext"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"security.protocol": "tls"}, "security.protocol must be one of plaintext, ssl, sasl_plaintext, sasl_ssl"),
        (PASSWORD, "sasl.mechanism, sasl.username, sasl.password: no effect"),
        ({"ssl.ca.location": "/ca.pem"}, "ssl.ca.location: no effect, because security.protocol=plaintext has no TLS"),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "CRAM-MD5"}, "CRAM-MD5 is not supported"),
        ({"security.protocol": "sasl_ssl", **PASSWORD, "sasl.kerberos.keytab": "/x"}, "PLAIN is not Kerberos"),
        ({"security.protocol": "ssl", "ssl.keystore.location": "/x.p12"}, "ssl.keystore.password go together"),
        (
            {"security.protocol": "ssl", "ssl.keystore.location": "/x.p12", "ssl.keystore.password": "hunter2"},
            "ssl.keystore.location cannot be read: No such file",
        ),
        ({"security.protocol": "ssl", "ssl.crl.location": "/nowhere.pem"}, "ssl.crl.location cannot be read: No such"),
        ({"security.protocol": "ssl", "ssl.cipher.suites": "hunter2"}, "ssl.cipher.suites names no cipher suite"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN"}, "sasl.username and sasl.password must be"),
        (
            {"security.protocol": "sasl_plaintext", **PASSWORD, "sasl.mechanisms": "SCRAM-SHA-256"},
            "sasl.mechanism and sasl.mechanisms are two names of one key and have different values",
        ),
        ({"security.protocol": "sasl_plaintext", **PASSWORD, "oauth_cb": print}, "oauth_cb: no effect, because PLAIN"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}, "needs oauth_cb"),
        (
            {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"},
            "client.id and sasl.oauthbearer.client.secret and sasl.oauthbearer.token.endpoint.url must be set",
        ),
        (
            {"security.protocol": "sasl_plaintext", **OIDC, "sasl.oauthbearer.extensions": "a b"},
            "extensions must be name=value",
        ),
        (
            {"security.protocol": "sasl_plaintext", **OIDC, "sasl.oauthbearer.token.endpoint.url": "https://a:b@idp"},
            "without a password",
        ),
        (
            {"security.protocol": "sasl_plaintext", **OIDC, "sasl.oauthbearer.token.endpoint.url": "https://idp/\x7f"},
            "must be a URL",
        ),
        ({"security.protocol": "sasl_plaintext", **PASSWORD, "sasl.password": ""}, "sasl.password must be a non-empty"),
        ({"security.protocol": "sasl_plaintext", **PASSWORD, "sasl.password": 7}, "sasl.password must be a non-empty"),
        (
            {"security.protocol": "sasl_plaintext", **PASSWORD, "sasl.password": "hunter2\ud800"},
            "The value of 'sasl.password' has a NUL, or half a character",
        ),
        ({"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "off"}, "must be one of https, none"),
        ({"security.protocol": "ssl", "enable.ssl.certificate.verification": "maybe"}, "must be one of true"),
        (
            {"security.protocol": "ssl", "ssl.key.password": "hunter2"},
            "ssl.key.password is set, but neither ssl.key.location nor ssl.key.pem",
        ),
        (
            {"security.protocol": "ssl", "ssl.key.pem": "hunter2"},
            "ssl.certificate.location or ssl.certificate.pem is missing",
        ),
        (
            {"security.protocol": "ssl", "ssl.ca.location": "/nowhere.pem"},
            "ssl.ca.location cannot be read: No such file",
        ),
        ({"security.protocol": "ssl", "ssl.ca.pem": "hunter2"}, "ssl.ca.pem cannot be used"),
        ({"security.protocol": "ssl", "ssl.ca.pem": "a", "ssl.ca.location": "b"}, "are both set: set one of them"),
        ({"group.id": "shop"}, "'group.id': not a configuration key for security"),
    ],
)
def test_what_cannot_work_is_refused_at_once(config: dict[str, Any], told: str) -> None:
    """The error says what is missing or contradicts what, and shows no value that could be a secret."""
    with pytest.raises(ConfigError) as refused:
        Security.from_dict(config)
    assert told in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_broken_certificates_and_keys_are_named_and_not_shown(files: Certificates, tmp_path: Path) -> None:
    """The file is no certificate, the key belongs to another one, or the password is wrong or missing; the terminal is never asked for it."""
    broken = tmp_path / "broken.pem"
    broken.write_text("hunter2")
    certificate = {"ssl.certificate.location": str(files.certificate)}
    for key in (
        {"ssl.key.location": str(broken)},
        {"ssl.key.pem": "hunter2"},
        {"ssl.key.location": str(files.locked_key)},
        {"ssl.key.location": str(files.locked_key), "ssl.key.password": "hunter2"},
        {"ssl.key.pem": files.locked_key_pem, "ssl.key.password": "hunter2"},
    ):
        with pytest.raises(ConfigError, match=f"{next(iter(key))} or ssl.key.password cannot be used: ") as refused:
            secured("ssl", certificate, key)
        assert "hunter2" not in str(refused.value)
        assert refused.value.__suppress_context__


def test_a_store_that_cannot_be_opened(files: Certificates) -> None:
    """The password is wrong, the file is no store, or a certificate is given as well."""
    store = {"ssl.keystore.location": str(files.key_store)}
    for given in ({**store, "ssl.keystore.password": "hunter2"}, {**store, "ssl.keystore.location": str(files.key)}):
        with pytest.raises(ConfigError, match=r"not PKCS#12, or a wrong ssl\.keystore\.password") as refused:
            secured("ssl", {"ssl.keystore.password": STORE_PASSWORD} | given)
        assert "hunter2" not in str(refused.value)
    both = {"ssl.certificate.location": str(files.certificate), "ssl.key.location": str(files.key)}
    with pytest.raises(ConfigError, match="are both set: set one of them"):
        secured("ssl", store, both, {"ssl.keystore.password": STORE_PASSWORD})


def test_a_renewed_file_is_read_again(files: Certificates, tmp_path: Path) -> None:
    """Certificates are renewed while processes run: the next connection has the new one, and all others share one context."""
    authority = tmp_path / "authority.pem"
    authority.write_bytes(files.authority.read_bytes())
    tls = secured("ssl", {"ssl.ca.location": str(authority)}).tls
    assert tls is not None
    first = context_of(tls)
    assert context_of(tls) is first
    authority.write_bytes(files.authority.read_bytes() + files.stranger.read_bytes())
    assert len(context_of(tls).get_ca_certs()) == 2


def test_secrets_are_neither_shown_nor_pickled(files: Certificates) -> None:
    """Not by repr, format or pickle; the mapping that it came from can be sent instead, by whoever wants to.

    The bug was that a callback's configuration, which often has a client's secret in it, was both.
    """
    locked = {"ssl.certificate.location": str(files.certificate), "ssl.key.pem": files.locked_key_pem}
    for made in (
        secured("sasl_plaintext", PASSWORD),
        secured("sasl_plaintext", OIDC),
        secured("sasl_plaintext", CALLBACK),
        secured("ssl", locked, {"ssl.key.password": KEY_PASSWORD}),
        secured("ssl", {"ssl.keystore.location": str(files.key_store), "ssl.keystore.password": STORE_PASSWORD}),
    ):
        shown = f"{made!r} {made} {made.sasl!r} {made.tls!r} {source_of(made)!r}"
        assert not [secret for secret in ("hunter2", KEY_PASSWORD, STORE_PASSWORD, "PRIVATE KEY") if secret in shown]
        for carry in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                carry(made)


def source_of(security: Security) -> object:
    """The source of tokens of a configuration, if it has one."""
    return security.sasl and security.sasl.tokens and security.sasl.tokens._fetch


def test_a_member_config_knows_no_secrets() -> None:
    """It is written to traces, so it refuses them, and the error says where they belong."""
    config = {"bootstrap.servers": "b:9092", "group.id": "shop"}
    with pytest.raises(ConfigError, match="Security") as refused:
        MemberConfig.from_dict({**config, "sasl.password": "hunter2"})
    assert "hunter2" not in str(refused.value)
    security = secured("sasl_plaintext", PASSWORD)
    GroupMember(MemberConfig.from_dict(config), security=security).close()
    GroupMember({**config, "security.protocol": "sasl_plaintext", **PASSWORD}).close()
    with pytest.raises(ConfigError, match="not both"):
        GroupMember({**config, "security.protocol": "sasl_plaintext", **PASSWORD}, security=security)
