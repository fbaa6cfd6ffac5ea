"""Every key that librdkafka has for consumers: taken as confluent-kafka takes it, or refused with the reason in the table."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from membership_client import ConfigError, Consumer, MemberConfig, Security
from membership_client.consumer.keys import CONFLUENT, KEYS, SECTIONS, Reach, with_reach
from membership_client.consumer.settings import settings_of
from tests.consumer import librdkafka_keys
from tests.consumer.librdkafka_keys import Row
from tests.security.assertions import PASSPHRASE, locked_pem, rsa_key
from tests.security.certificates import KEY_PASSWORD, STORE_PASSWORD, Certificates

BASE = {"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0}
SSL = {"security.protocol": "ssl"}
PLAIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "secret",
}
BEARER = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}
OIDC = BEARER | {
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "alice",
    "sasl.oauthbearer.client.secret": "secret",
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
}
ASSERTION = BEARER | {
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
}
KERBEROS = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}
AZURE = {key: value for key, value in OIDC.items() if ".client." not in key} | {
    "sasl.oauthbearer.metadata.authentication.type": "azure_imds"
}

VALUES: dict[str, list[Any]] = {
    "bootstrap.servers": ["127.0.0.1", "PLAINTEXT://127.0.0.1:1", "[::1]:1,127.0.0.1:1"],
    "builtin.features": ["gzip"],
    "client.id": ["till", "", None],
    "client.rack": ["north", ""],
    "debug": ["conf"],
    "error_cb": [print],
    "group.id": ["shop"],
    "group.instance.id": ["till-1", ""],
    "group.protocol.type": ["consumer"],
    "group.remote.assignor": ["uniform", ""],
    "logger": [logging.getLogger("librdkafka")],
    "log_level": [0, "0"],
    "metadata.broker.list": ["127.0.0.1:1"],
    "offset.store.method": ["broker"],
    "on_commit": [print],
    "plugin.library.paths": [""],
    "security.protocol": ["plaintext", "SSL"],
    "share.acknowledgement.mode": ["implicit"],
    "stats_cb": [print],
    "throttle_cb": [print],
    "default.topic.config": [{"auto.offset.reset": "earliest"}],
}
"""Of keys that have no default, or whose default is not the value to try."""

_A_POINTER = object()


@functools.cache
def rows() -> dict[str, Row]:
    """Of consumers. A key of the configuration and of its topics at once is there once."""
    return {row.name: row for row in librdkafka_keys.rows() if row.of != "P"}


def test_the_table_has_every_key_and_no_other() -> None:
    """Of the librdkafka that is installed: a new version that has more needs rows, and a look at what they mean here."""
    assert set(KEYS) - set(CONFLUENT) == set(rows())
    assert sum(map(len, SECTIONS.values())) == len(KEYS)


def test_the_table_says_what_is_so() -> None:
    """A key of both reaches the membership, one of ours is never told to librdkafka, and a reason is a reason."""
    ours = {field.replace("_", ".") for field in MemberConfig.__dataclass_fields__} | Security.KEYS
    elsewhere = {"auto.offset.reset", "default.topic.config", "metadata.broker.list"}  # Taken apart by `settings_of`.
    assert with_reach(Reach.BOTH) <= ours | elsewhere
    assert not with_reach(Reach.FETCHER) & ours
    assert with_reach(Reach.BOTH) >= Security.KEYS
    assert all(key.note and not key.note.endswith(".") for key in KEYS.values() if key.reach is Reach.REFUSED)


def _written(row: Row) -> Iterable[Any]:
    """Values that librdkafka's own documentation allows, in the forms in which people give them."""
    if " .. " in row.values:
        number = int(row.default or row.values.split(" .. ")[0])
        return [number, str(number), float(number)]
    if row.values == "true, false":
        return [True, "false", "T", 0]
    if row.values:
        return [form for word in row.values.split(", ") for form in (word, word.upper())]
    return [row.default]


PLAIN_KEYS = sorted(
    name
    for name, key in KEYS.items()
    if key.reach is not Reach.REFUSED
    and (name not in SECTIONS["Security"] or name == "security.protocol")
    and name != "oauth_cb"
)


@pytest.mark.parametrize("name", PLAIN_KEYS)
def test_a_key_is_taken_as_by_confluent_kafka(name: str) -> None:
    """With each legal value, also as text, as a float and in capitals; librdkafka is told it, or we act on it, or both."""
    for value in VALUES.get(name) or _written(rows()[name]):
        config = {**BASE, name: value}
        if name == "metadata.broker.list":
            del config["bootstrap.servers"]
        confluent_kafka.Consumer(config).close()
        Consumer(config).close()
        passed = settings_of(config).fetcher
        if name in {"enable.auto.commit", "enable.auto.offset.store"}:
            assert passed[name] is False
        elif name not in {"metadata.broker.list", "default.topic.config"}:
            assert (name in passed) == (KEYS[name].reach in {Reach.FETCHER, Reach.BOTH})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def _secure(files: Certificates, revoked: Path) -> dict[str, list[dict[str, Any]]]:
    """Configurations in which each key about security has a use."""
    certificate = {"ssl.certificate.location": str(files.certificate), "ssl.key.location": str(files.key)}
    locked = {
        "ssl.certificate.pem": files.certificate.read_text(),
        "ssl.key.pem": files.locked_key_pem,
        "ssl.key.password": KEY_PASSWORD,
    }
    signing = {
        "sasl.oauthbearer.assertion.private.key.pem": locked_pem(rsa_key()),
        "sasl.oauthbearer.assertion.private.key.passphrase": PASSPHRASE,
        "sasl.oauthbearer.assertion.algorithm": "RS256",
        "sasl.oauthbearer.assertion.claim.aud": "kafka",
        "sasl.oauthbearer.assertion.claim.iss": "shop",
        "sasl.oauthbearer.assertion.claim.sub": "till",
        "sasl.oauthbearer.assertion.claim.exp.seconds": "300",
        "sasl.oauthbearer.assertion.claim.nbf.seconds": 60.0,
        "sasl.oauthbearer.assertion.claim.jti.include": "true",
    }
    template = files.key.with_name("template.json")
    template.write_text('{"header": {}, "payload": {}}')
    plain_key = {
        "sasl.oauthbearer.assertion.private.key.file": str(files.key),
        "sasl.oauthbearer.assertion.algorithm": "ES256",
        "sasl.oauthbearer.assertion.jwt.template.file": str(template),
    }
    second = {
        "sasl.oauthbearer.client.credentials.client.id": "alice",
        "sasl.oauthbearer.client.credentials.client.secret": "secret",
    }
    url = {key: value for key, value in OIDC.items() if ".client." not in key}
    trusted = {"https.ca.location": "probe"}
    more = {
        "sasl.oauthbearer.scope": "a",
        "sasl.oauthbearer.extensions": "a=b",
        "sasl.oauthbearer.sub.claim.name": "sub",
    }
    whole: list[dict[str, Any]] = [
        SSL | certificate | {"ssl.ca.location": str(files.authority), "ssl.crl.location": str(revoked)},
        SSL | locked | {"ssl.ca.pem": files.authority.read_text(), "ssl.cipher.suites": "ECDHE-RSA-AES256-GCM-SHA384"},
        SSL | {"ssl.keystore.location": str(files.key_store), "ssl.keystore.password": STORE_PASSWORD},
        SSL | {"enable.ssl.certificate.verification": "F", "ssl.endpoint.identification.algorithm": "NONE"},
        PLAIN,
        PLAIN | {"sasl.mechanisms": "PLAIN"},
        OIDC | trusted | more | {"sasl.oauthbearer.grant.type": "CLIENT_CREDENTIALS"},
        OIDC | {"https.ca.pem": files.authority.read_text()},
        url | second,
        ASSERTION | signing,
        ASSERTION | plain_key,
        ASSERTION | {"sasl.oauthbearer.assertion.file": str(files.key)},
        AZURE | {"sasl.oauthbearer.config": "query=resource=x"},
        BEARER | {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=alice"},
        BEARER | {"oauth_cb": lambda _: ("token", 1e10)},
    ]
    names = SECTIONS["Security"].keys() | {"oauth_cb"}
    return {name: [config for config in whole if name in config] for name in names}


def test_keys_about_security_are_taken_as_by_confluent_kafka(files: Certificates, tmp_path: Path) -> None:
    """Each in a configuration that it belongs to, for librdkafka's constructor and for ours."""
    revoked = tmp_path / "revoked.pem"
    revoked.write_bytes(files.authority.read_bytes())
    found = _secure(files, revoked)
    taken = {name for name in found if KEYS[name].reach is not Reach.REFUSED}
    unused = {name for name in taken if not found[name]}
    assert unused == {name for name in taken if name.startswith("sasl.kerberos.")}
    done: list[dict[str, Any]] = []
    for config in (config for configs in found.values() for config in configs):
        if config not in done:
            done.append(config)
            confluent_kafka.Consumer({**BASE, **config}).close()
            Consumer({**BASE, **config}).close()
            assert config.items() <= settings_of({**BASE, **config}).fetcher.items()


@pytest.mark.parametrize("name", sorted(with_reach(Reach.REFUSED)))
def test_a_refused_key_says_why(name: str) -> None:
    """With the error of both libraries, and the reason that is in the table."""
    value = "x" if name.startswith("ssl.") or name == "topic.blacklist" else _A_POINTER
    with pytest.raises(KafkaException) as refused:
        Consumer({**BASE, name: value})
    assert isinstance(refused.value, ConfigError)
    assert refused.value.args[0].code() == KafkaError._INVALID_ARG
    assert refused.value.args[0].str() == f"{name}: {KEYS[name].note}."


@pytest.mark.parametrize("config", [{"no.such.key": 1}, {"fetch.min.bytes": "many"}, {"isolation.level": "some"}])
def test_what_librdkafka_refuses_is_its_own_error(config: dict[str, Any]) -> None:
    """An unknown key, and values of keys that are librdkafka's: the same error, letter by letter."""
    errors = []
    for kind in (confluent_kafka.Consumer, Consumer):
        with pytest.raises(KafkaException) as refused:
            kind({**BASE, **config})
        errors.append((refused.value.args[0].code(), refused.value.args[0].str()))
    assert errors[0] == errors[1]
    assert errors[0][0] == KafkaError._INVALID_ARG


def test_keys_of_producers_are_passed_on() -> None:
    """Some programs share one configuration; librdkafka says in its log that they have no effect."""
    for kind in (confluent_kafka.Consumer, Consumer):
        kind({**BASE, "acks": "all", "linger.ms": 5, "enable.idempotence": True}).close()


def test_kerberos_needs_a_librdkafka_that_has_it() -> None:
    """Its package first; wheels of confluent-kafka have no libsasl2, and say so."""
    with pytest.raises(KafkaException, match=r"gssapi|libsasl2"):
        Consumer({**BASE, **KERBEROS})
