"""Administration over secured connections, also with a client.properties of Kafka's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from membership_client import AuthenticationError, GroupMember
from membership_client.admin import GroupAdmin
from membership_client.cli import main
from tests.security.secure_kafka import PATIENCE_S, PLAIN_PASSWORD, SCRAM_PASSWORD, USER, WAYS_IN, SecureKafka
from tests.security.token_endpoint import TokenEndpoint

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_group_is_described_whichever_way_in(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """With its lag, which is asked of leaders: one configuration serves all questions."""
    topic, config = secured.new_topic(), secured.ways_in(endpoint.url)[way]
    with GroupMember({**config, "group.id": topic}) as member, GroupAdmin(config) as admin:
        member.subscribe([topic])
        owned = member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S).owned
        member.commit(dict.fromkeys(owned, 0))
        assert admin.describe(topic).lag == dict.fromkeys(owned, 0)


def test_a_wrong_password_is_not_tried_again_and_again(secured: SecureKafka) -> None:
    """It is an error at once."""
    config = secured.at("SASL", sasl_mechanism="PLAIN", sasl_username=USER, sasl_password="wrong")
    with GroupAdmin(config) as admin, pytest.raises(AuthenticationError):
        admin.list()


@pytest.mark.parametrize(("mechanism", "password"), [("PLAIN", PLAIN_PASSWORD), ("SCRAM-SHA-512", SCRAM_PASSWORD)])
def test_a_clients_properties_file_works_as_it_is(
    secured: SecureKafka, mechanism: str, password: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SASL over TLS, with a trust store in PEM, in Java's names."""
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
    address = secured.cluster.address_of("SASLTLS")
    arguments = ["groups", "list", "--bootstrap-server", address, "--command-config", str(file), "--json"]
    assert main(arguments) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)
