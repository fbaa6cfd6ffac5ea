"""The security keys reach every client that connects from Spark."""

from __future__ import annotations

import pytest

from membership_client import GroupMember, MemberState, Security
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.pipeline.settings import settings_of
from membership_client_spark.slot_member import new_driver_epoch, slot_config
from tests.security.secure_kafka import PATIENCE_S, SecureKafka
from tests.security.token_endpoint import TokenEndpoint

pytestmark = pytest.mark.deep


@pytest.mark.kafka
@pytest.mark.parametrize("way", ["pem-strings", "scram-256", "token"])
def test_slots_and_the_driver(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """A slot's member joins with them, and the driver describes the group with them."""
    topic = secured.new_topic()
    config = {**secured.ways_in(endpoint.url)[way], "group.id": topic, "auto.offset.reset": "earliest"}
    first = new_driver_epoch(config)
    with GroupMember(slot_config(settings_of(config).members, "job", 0, Incarnation(first, 0))) as member:
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        assert new_driver_epoch(config) > first


@pytest.mark.kafka
def test_members_readers_and_questions_of_a_pipeline(secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """All three get all of them, and none is shown."""
    config = {**secured.ways_in(endpoint.url)["oidc"], "group.id": "shop"}
    made = settings_of(config)
    about_security = {key: value for key, value in config.items() if key in Security.KEYS}
    for part in (made.members, made.readers, made.clients):
        assert about_security.items() <= part.items()
    assert config["sasl.oauthbearer.client.secret"] not in repr(made)
