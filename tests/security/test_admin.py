"""Administration over secured connections, also with a client.properties of Kafka's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from membership_client import AuthenticationError, GroupMember
from membership_client.admin import GroupAdmin
from membership_client.cli.program import main
from tests.admin.kafka_tool import KafkaTool
from tests.security.certificates import KEY_PASSWORD
from tests.security.java_stores import STORE_PASSWORD, exchange_file, key_store, trust_store
from tests.security.secure_kafka import PATIENCE_S, PLAIN_PASSWORD, SCRAM_PASSWORD, USER, WAYS_IN, SecureKafka
from tests.security.token_endpoint import TokenEndpoint

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_group_is_described_whichever_way_in(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """The lag is asked of leaders, so one configuration is enough for all brokers."""
    topic, config = secured.new_topic(), secured.ways_in(endpoint.url)[way]
    with GroupMember({**config, "group.id": topic}) as member, GroupAdmin(config) as admin:
        member.subscribe([topic])
        owned = member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S).owned
        member.commit(dict.fromkeys(owned, 0))
        assert admin.describe(topic).lag == dict.fromkeys(owned, 0)


def test_a_wrong_password_is_not_tried_again_and_again(secured: SecureKafka) -> None:
    """The error comes at once."""
    config = secured.at("SASL", sasl_mechanism="PLAIN", sasl_username=USER, sasl_password="wrong")
    with GroupAdmin(config) as admin, pytest.raises(AuthenticationError):
        admin.list()


@pytest.mark.parametrize(("mechanism", "password"), [("PLAIN", PLAIN_PASSWORD), ("SCRAM-SHA-512", SCRAM_PASSWORD)])
def test_a_clients_properties_file_works_as_it_is(
    secured: SecureKafka, mechanism: str, password: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has SASL over TLS, with a trust store in PEM, in Java's names."""
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    file = tmp_path / "client.properties"
    file.write_text(
        f"""
security.protocol=SASL_SSL
sasl.mechanism={mechanism}
sasl.jaas.config=org.apache.kafka.common.security.{module}LoginModule required \\
  username="{USER}" \\
  password="{password}";
ssl.truststore.type=PEM
ssl.truststore.location={secured.certificates.authority}
"""
    )
    assert main(_listing(secured.cluster.address_of("SASLTLS"), file)) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)


@pytest.mark.parametrize(
    ("kind", "key_password"),
    [("JKS", STORE_PASSWORD), ("JKS", KEY_PASSWORD), ("PKCS12", STORE_PASSWORD), ("exchanged", STORE_PASSWORD)],
    ids=["jks", "jks-with-two-passwords", "pkcs12", "pkcs12-of-others"],
)
def test_key_stores_of_javas_let_us_in_where_certificates_are_demanded(
    secured: SecureKafka, kind: str, key_password: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file that works for Kafka's own tool works, and does not without its key store."""
    files, store = secured.certificates, tmp_path / "store"
    if kind == "exchanged":
        exchange_file(files.client(), store)
    else:
        key_store(files.client(), store, kind, key_password)
    trusted = f"""
security.protocol=SSL
ssl.truststore.location={trust_store(files.authority, tmp_path / "trust.jks", "JKS")}
ssl.truststore.password={STORE_PASSWORD}
"""
    known = f"""
ssl.keystore.location={store}
ssl.keystore.type={"JKS" if kind == "JKS" else "PKCS12"}
ssl.keystore.password={STORE_PASSWORD}
ssl.key.password={key_password}
"""
    file, address, group = tmp_path / "client.properties", secured.cluster.address_of("MUTUAL"), secured.new_topic()
    arguments = _listing(address, file)
    with GroupMember({**secured.at("TLS"), "group.id": group}) as member:
        member.subscribe([group])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        file.write_text(trusted)
        assert main(arguments) == 2
        file.write_text(trusted + known)
        assert main(arguments) == 0
        assert group in {found["group"] for found in json.loads(capsys.readouterr().out)}
        assert group in KafkaTool(address).run("--list", "--command-config", str(file)).split()


def _listing(address: str, file: Path) -> list[str]:
    """The list of groups, with patience for a busy machine."""
    told = ["--bootstrap-server", address, "--command-config", str(file), "--timeout", str(PATIENCE_S)]
    return ["groups", "list", *told, "--json"]
