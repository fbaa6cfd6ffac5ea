"""librdkafka's configuration in the words of Kafka's Java client, or the reason why that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from membership_client_spark.pipeline.java_options import NotTranslatableError, has_secrets, java_options
from membership_client_spark.pipeline.settings import settings_of
from tests.security.certificates import KEY_PASSWORD, Certificates

_PLAIN = {"bootstrap.servers": "b:1", "group.id": "g"}
_PASSWORD = {"sasl.mechanism": "scram-sha-256", "sasl.username": "al", "sasl.password": 'a"b\\c\nd'}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def translated(config: dict[str, Any]) -> dict[str, str]:
    """As a pipeline does it: librdkafka has seen the configuration, too."""
    return java_options(settings_of(_PLAIN | config).readers)


def test_a_plain_configuration_reads_committed_records_and_names_no_group() -> None:
    """read_committed is librdkafka's default and not Java's, which also creates topics that are missing; keys of librdkafka's own working are left out."""
    tuned = {"queued.min.messages": 10, "socket.keepalive.enable": True, "log_level": 3, "session.timeout.ms": 9000}
    assert translated({**tuned, "client.rack": "a", "fetch.wait.max.ms": 50}) == {
        "kafka.allow.auto.create.topics": "false",
        "kafka.bootstrap.servers": "b:1",
        "kafka.client.rack": "a",
        "kafka.fetch.max.wait.ms": "50",
        "kafka.isolation.level": "read_committed",
        "kafka.security.protocol": "PLAINTEXT",
    }
    assert translated({"isolation.level": "READ_UNCOMMITTED", "check.crcs": True})["kafka.check.crcs"] == "true"
    assert translated({"isolation.level": "READ_UNCOMMITTED"})["kafka.isolation.level"] == "read_uncommitted"


def test_a_password_is_quoted_as_java_reads_it() -> None:
    """A quotation mark, a backslash or a new line would otherwise end the entry, or add to it."""
    options = java_options({"security.protocol": "sasl_plaintext", **_PASSWORD})
    assert options["kafka.sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="al" password="a\\"b\\\\c\\nd";'
    )
    assert options["kafka.sasl.mechanism"] == "SCRAM-SHA-256"
    assert has_secrets(options)
    assert not has_secrets(translated({}))


def test_certificates_travel_as_texts(files: Certificates) -> None:
    """Executors then need no files."""
    options = translated(
        {
            "security.protocol": "ssl",
            "ssl.ca.location": str(files.authority),
            "ssl.certificate.location": str(files.certificate),
            "ssl.key.location": str(files.key),
            "ssl.endpoint.identification.algorithm": "none",
        }
    )
    assert options["kafka.ssl.truststore.certificates"] == files.authority.read_text()
    assert options["kafka.ssl.keystore.certificate.chain"] == files.certificate.read_text()
    assert options["kafka.ssl.endpoint.identification.algorithm"] == ""
    assert has_secrets(options)


def _token(_: str) -> tuple[str, float]:
    return "", 0.0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"broker.address.family": "v4"}, "broker.address.family has no counterpart"),
        ({"security.protocol": "ssl"}, "name them in ssl.ca.location"),
        ({"security.protocol": "ssl", "enable.ssl.certificate.verification": False}, "always verifies"),
        (
            {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": _token},
            "sasl.mechanism=OAUTHBEARER would need",
        ),
    ],
)
def test_what_java_cannot_do_is_said(more: dict[str, Any], says: str) -> None:
    """Never left out in silence: the brokers, or the records, could be others."""
    with pytest.raises(NotTranslatableError, match=says):
        java_options(_PLAIN | more)


def test_a_locked_key_is_refused_without_showing_it(files: Certificates, tmp_path: Path) -> None:
    """Java reads few of the ways in which a key is encrypted."""
    trusted = {"security.protocol": "ssl", "ssl.ca.location": str(files.authority)}
    mine = {"ssl.certificate.location": str(files.certificate), "ssl.key.location": str(files.locked_key)}
    with pytest.raises(NotTranslatableError, match="without a password") as raised:
        java_options(_PLAIN | trusted | mine | {"ssl.key.password": KEY_PASSWORD})
    assert KEY_PASSWORD not in str(raised.value)
    directory = trusted | {"ssl.ca.location": str(tmp_path)}
    with pytest.raises(NotTranslatableError, match="is a directory"):
        java_options(_PLAIN | directory)
