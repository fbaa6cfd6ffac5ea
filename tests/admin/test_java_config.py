"""A client.properties file of Kafka's own tools is translated, or refused with an error that says what to do."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

import pytest
import trustme

from membership_client import ConfigError
from membership_client.admin.asking import AdminConnection
from membership_client.admin.java.java_config import from_java, read_properties
from membership_client.security.settings import Security
from tests.security.certificates import KEY_PASSWORD
from tests.security.java_stores import STORE_PASSWORD, key_store, trust_store

pytestmark = pytest.mark.deep

SCRAM = """
# How to reach the cluster
bootstrap.servers = broker:9093
security.protocol=SASL_SSL
sasl.mechanism : SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="alice" \\
    password="s\\\\"ec=ret;";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/kafka/ca.pem
key.deserializer=org.apache.kafka.common.serialization.StringDeserializer
"""


def test_properties_are_read_as_java_reads_them() -> None:
    """Separators, continued lines, comments, escapes and the last of two equal keys."""
    text = "a=1\n  b : 2\nc 3\n! no\n# no\\\nd\\ e = x\\ty \\u00e9\nf=one,\\\n   two\ng=\nh\na = 4\ni==\nj\\:k=\\\\"
    assert read_properties(text) == {
        "a": "4",
        "b": "2",
        "c": "3",
        "d e": "x\ty é",
        "f": "one,two",
        "g": "",
        "h": "",
        "i": "=",
        "j:k": "\\",
    }


def test_a_broken_escape_is_an_error_without_the_value() -> None:
    """The value may be a password."""
    with pytest.raises(ConfigError, match=r"sasl.jaas.config") as error:
        read_properties("sasl.jaas.config=geheim\\u12")
    assert "geheim" not in str(error.value)


def test_a_file_for_scram_over_tls_is_translated() -> None:
    """The keys get librdkafka's names; keys that are not about the connection are ignored."""
    assert from_java(read_properties(SCRAM)) == {
        "bootstrap.servers": "broker:9093",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": 's"ec=ret;',
        "ssl.ca.location": "/etc/kafka/ca.pem",
    }


def test_certificates_in_the_file_itself_are_translated() -> None:
    """These are KIP-651's keys, and an empty algorithm, with which Java does not check host names."""
    found = from_java(
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": "CA",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": "KEY",
            "ssl.key.password": "pass",
            "ssl.endpoint.identification.algorithm": "",
            "ssl.enabled.protocols": "TLSv1.3",
        }
    )
    assert found == {
        "security.protocol": "ssl",
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "CHAIN",
        "ssl.key.pem": "KEY",
        "ssl.key.password": "pass",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_pem_key_store_has_certificate_and_key() -> None:
    """Java has one file for both."""
    found = from_java(
        {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.location": "/etc/kafka/me.pem"}
    )
    assert found["ssl.certificate.location"] == found["ssl.key.location"] == "/etc/kafka/me.pem"


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
@pytest.mark.parametrize("is_named", [True, False], ids=["typed", "untyped"])
def test_a_trust_store_of_javas_is_read_by_javas_keytool(kind: str, is_named: bool, tmp_path: Path) -> None:
    """Most files have such a store, and most of them name no type."""
    authority, pem = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(trust_store(pem, tmp_path / "trust.jks", kind)),
        "ssl.truststore.password": STORE_PASSWORD,
    } | ({"ssl.truststore.type": kind} if is_named else {})
    found = ssl.PEM_cert_to_DER_cert(from_java(properties)["ssl.ca.pem"])
    assert found == ssl.PEM_cert_to_DER_cert(authority.cert_pem.bytes().decode())
    with pytest.raises(ConfigError, match=r"trust.jks cannot be read: .*password was incorrect") as error:
        from_java(properties | {"ssl.truststore.password": "geheim"})
    assert "geheim" not in str(error.value)


def keyed(store: Path, kind: str, **more: str) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.keystore.location": str(store),
        "ssl.keystore.type": kind,
        "ssl.keystore.password": STORE_PASSWORD,
    } | {name.replace("_", "."): value for name, value in more.items()}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JKS store whose key has its own password, a PKCS12 store, stores with two keys and with none, and a PEM file."""
    directory, authority = tmp_path_factory.mktemp("stores"), trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "ca.pem"))
    trust_store(directory / "ca.pem", directory / "trust.jks", "JKS")
    first, second = (authority.issue_cert(f"{name}.test") for name in ("first", "second"))
    key_store(first, directory / "key.jks", "JKS", key_password=KEY_PASSWORD)
    key_store(first, directory / "one.p12", "PKCS12")
    key_store(first, directory / "two.p12", "PKCS12", alias="first")
    key_store(second, directory / "two.p12", "PKCS12", alias="second")
    return directory


@pytest.mark.parametrize(
    ("store", "kind", "more", "complaint"),
    [
        ("key.jks", "JKS", {"ssl_keystore_password": "geheim"}, "read as JKS.*password was incorrect"),
        ("one.p12", "PKCS12", {"ssl_keystore_password": "geheim"}, "read as PKCS12.*password was incorrect"),
        ("key.jks", "JKS", {}, "or ssl.key.password does not open its key: .*Cannot recover key"),
        ("key.jks", "JKS", {"ssl_key_password": "geheim"}, "or ssl.key.password does not open its key"),
        ("one.p12", "PKCS12", {"ssl_key_password": "geheim"}, "a PKCS12 store has one password for both"),
        ("one.p12", "PKCS12", {"ssl_keystore_password": ""}, "ssl.keystore.password is missing"),
        ("no-such.jks", "JKS", {}, r"no-such.jks cannot be read as JKS: .*does not exist"),
        ("ca.pem", "JKS", {}, "ca.pem cannot be read as JKS"),
        ("ca.pem", "PKCS12", {}, "ca.pem cannot be read as PKCS12"),
        ("one.p12", "BCFKS", {}, "cannot be read as BCFKS: .*BCFKS not found"),
        ("trust.jks", "JKS", {}, "trust.jks has no private key"),
        ("two.p12", "PKCS12", {}, r"has 2 private keys \(first, second\): it must have exactly one"),
    ],
)
def test_a_key_store_that_cannot_be_used_is_an_error_at_once(
    stores: Path, store: str, kind: str, more: dict[str, str], complaint: str
) -> None:
    """The file is missing or no store, has no key or several, or the password is wrong. No error shows a password."""
    with pytest.raises(ConfigError, match=complaint) as error:
        from_java(keyed(stores / store, kind, **more))
    assert not any(secret in str(error.value) for secret in ("geheim", STORE_PASSWORD, KEY_PASSWORD))


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_the_key_of_a_key_store_stays_locked(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is encrypted with a new random password, and nothing of it stays on the disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    store = key_store(trustme.CA().issue_cert("client.test"), tmp_path / "store", kind)
    first, second = (from_java(keyed(store, kind)) for _ in range(2))
    assert list((tmp_path / "temporary").iterdir()) == []
    assert first["ssl.key.pem"].startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert len({STORE_PASSWORD, first["ssl.key.password"], second["ssl.key.password"]}) == 3
    shown = repr(Security.from_dict(first))
    assert not any(secret in shown for secret in (first["ssl.key.password"], "PRIVATE KEY"))
    with pytest.raises(ConfigError, match=r"ssl.key.password"):
        Security.from_dict(first | {"ssl.key.password": second["ssl.key.password"]})


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_without_keytool_a_store_of_javas_is_refused(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the command that makes a PEM file of it."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ConfigError, match=r"type=JKS: without .* only PEM .* openssl .* keytool"):
        from_java({"security.protocol": "SSL", f"ssl.{store}.location": "ca.jks"})


def test_tokens_of_a_token_endpoint_are_translated() -> None:
    """The client-credentials flow is read from the options of both Java versions."""
    common = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
        "sasl.login.callback.handler.class": "org.apache.kafka.x.OAuthBearerLoginCallbackHandler",
    }
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    jaas = {"sasl.jaas.config": f'{module} required clientId="me" clientSecret="mine" scope="kafka";'}
    keys = {
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": "mine",
        "sasl.oauthbearer.scope": "kafka",
    }
    expected = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "mine",
        "sasl.oauthbearer.scope": "kafka",
    }
    assert from_java(common | jaas) == from_java(common | keys) == expected


PLAIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"security.protocol": "SSL", "ssl.keystore.key": "KEY", "ssl.keystore.type": "PKCS12"}, "only PEM"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "no-such.jks"}, "no-such.jks cannot be read"),
        ({"security.protocol": "SASL_SSL"}, "Kerberos"),
        (PLAIN, "sasl.jaas.config is missing"),
        (PLAIN | {"sasl.jaas.config": 'a.ScramLoginModule required username="a";'}, "needs PlainLoginModule"),
        (PLAIN | {"sasl.jaas.config": 'a.PlainLoginModule required username="a";'}, "has no password"),
        (PLAIN | {"sasl.login.class": "Own"}, r"sasl\.login\.class: not supported\."),
    ],
)
def test_what_cannot_be_used_is_an_error_that_says_what_to_do(properties: dict[str, str], complaint: str) -> None:
    """It is refused, so that no connection differs from its file."""
    with pytest.raises(ConfigError, match=complaint):
        from_java(properties)


def test_what_security_protocol_has_no_use_for_is_passed_over() -> None:
    """Java ignores such keys, and many files have them."""
    found = from_java(
        {"security.protocol": "PLAINTEXT", "ssl.truststore.location": "ca.jks", "sasl.mechanism": "PLAIN"}
    )
    assert found == {"security.protocol": "plaintext"}


def test_an_administrator_takes_keys_about_connections_only() -> None:
    """Other keys are refused, because a typing error would otherwise have no effect."""
    made = AdminConnection.of(
        {"bootstrap.servers": "a:1,b:2", "client.id": "me", "request.timeout.ms": "2500"}, client_id="-", timeout_s=10
    )
    assert (len(made.bootstrap), made.client_id, made.timeout_s) == (2, "me", 2.5)
    for wrong in ({"group.id": "shop"}, {"bootstrap.server": "a:1"}):
        with pytest.raises(ConfigError, match="not used by GroupAdmin"):
            AdminConnection.of({"bootstrap.servers": "a:1"} | wrong, client_id="-", timeout_s=10)
    with pytest.raises(ConfigError, match=r"bootstrap\.servers must be set"):
        AdminConnection.of({}, client_id="-", timeout_s=10)
