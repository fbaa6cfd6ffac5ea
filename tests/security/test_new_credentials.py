"""set_sasl_credentials(): fetching and membership go on as the new user, or with the new password."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from membership_client import AuthenticationError, ConfigError, Consumer, GroupMember, MemberState, aio
from tests.integration.members import eventually
from tests.security.secure_kafka import PATIENCE_S, RENEWED_EVERY_MS, SecureKafka

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SESSIONS_S = 2.5 * RENEWED_EVERY_MS / 1000
OLD, NEW = "old-password-Lm28", "new-password-Xd63"


def add_user(secured: SecureKafka, name: str, password: str) -> None:
    """Add the user, or replace its password."""
    admin = AdminClient({"bootstrap.servers": secured.cluster.bootstrap_servers})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = UserScramCredentialUpsertion(name, info, password.encode())
    for future in admin.alter_user_scram_credentials([upsertion]).values():
        future.result(PATIENCE_S)


def new_user(secured: SecureKafka, password: str) -> str:
    name = f"user-{uuid.uuid4().hex[:8]}"
    add_user(secured, name, password)
    return name


def config_of(secured: SecureKafka, name: str, password: str, topic: str) -> dict[str, Any]:
    """The configuration for a listener whose sessions end, so that clients must authenticate again."""
    login = {"sasl_mechanism": "SCRAM-SHA-256", "sasl_username": name, "sasl_password": password}
    reads = {"group.id": topic, "auto.offset.reset": "earliest", "log_level": 0}
    return secured.at("SHORT", **login) | reads


def joined(config: dict[str, Any], topic: str) -> Consumer:
    """A joined member; the broker may learn of a user a moment after its administrator was told so."""
    consumer = Consumer(config)

    def is_in() -> bool:
        try:
            consumer.poll(0.1)
        except AuthenticationError:
            consumer.subscribe([topic])
        return consumer.snapshot.state is MemberState.STABLE and len(consumer.snapshot.owned) == 2

    consumer.subscribe([topic])
    eventually(is_in, "both partitions")
    return consumer


@pytest.mark.parametrize("another_user", [False, True])
def test_new_credentials_reach_the_membership(secured: SecureKafka, another_user: bool) -> None:
    """Over more than two sessions records are read and committed: the old password ended the member at the first.

    Another user cannot take over an open session, so the membership's connections are opened anew.
    """
    topic = secured.new_topic()
    name = new_user(secured, OLD)
    other = new_user(secured, NEW) if another_user else name
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    consumer = joined(config_of(secured, name, OLD, topic), topic)
    try:
        consumer.set_sasl_credentials(other, NEW)
        add_user(secured, name, NEW if name == other else f"{OLD}-replaced")
        ends = time.monotonic() + SESSIONS_S
        while time.monotonic() < ends:
            producer.produce(topic, b"record", partition=0)
            producer.flush()
            record = consumer.poll(PATIENCE_S)
            assert record is not None
            assert record.error() is None, record.error()
            consumer.commit(record, asynchronous=False)
            time.sleep(0.1)
        assert consumer.snapshot.state is MemberState.STABLE
        assert consumer.snapshot.error is None
    finally:
        consumer.close()
    assert NEW not in repr(vars(consumer))


def test_a_member_that_was_refused_starts_over_with_new_credentials(secured: SecureKafka) -> None:
    """Its next subscribe() uses them."""
    topic = secured.new_topic()
    name = new_user(secured, NEW)
    consumer = Consumer(config_of(secured, name, OLD, topic))
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.snapshot.state is MemberState.FATAL, "a refusal")
        with pytest.raises(AuthenticationError):
            consumer.poll(0.1)
        consumer.set_sasl_credentials(name, NEW)
        consumer.subscribe([topic])
        eventually(lambda: (consumer.poll(0.1), len(consumer.snapshot.owned) == 2)[1], "both partitions")
    finally:
        consumer.close()


@pytest.mark.parametrize(("name", "password"), [("", NEW), ("alice", ""), (None, NEW), ("alice", None), ("alice", 5)])
def test_credentials_that_are_none_are_refused(secured: SecureKafka, name: Any, password: Any) -> None:
    """The old ones stay; the refused values are not shown."""
    consumer = Consumer(config_of(secured, "alice", OLD, secured.new_topic()))
    try:
        with pytest.raises(ConfigError) as caught:
            consumer.set_sasl_credentials(name, password)
        assert isinstance(caught.value, KafkaException)
        assert NEW not in str(caught.value)
    finally:
        consumer.close()


def test_without_a_password_there_is_none_to_replace(secured: SecureKafka) -> None:
    """Credentials without effect would be a mistake."""
    consumer = Consumer({"bootstrap.servers": secured.cluster.bootstrap_servers, "group.id": "plain", "log_level": 0})
    try:
        with pytest.raises(ConfigError, match="PLAIN or SCRAM"):
            consumer.set_sasl_credentials("alice", NEW)
    finally:
        consumer.close()


def known_user(secured: SecureKafka, password: str) -> str:
    """A user that the broker accepts by now: it may learn of a user a moment after its administrator was told so."""
    name = new_user(secured, password)
    config = member_config_of(secured, name, password, "nobody") | {"log_level": 0}
    del config["group.id"]

    def is_let_in() -> bool:
        try:
            return bool(AdminClient(config).list_topics(timeout=5).brokers)
        except KafkaException:
            return False

    eventually(is_let_in, "a user that the broker knows")
    return name


def member_config_of(secured: SecureKafka, name: str, password: str, topic: str) -> dict[str, Any]:
    config = config_of(secured, name, password, topic)
    return {key: value for key, value in config.items() if key not in {"auto.offset.reset", "log_level"}}


def test_a_group_member_goes_on_with_new_credentials(secured: SecureKafka) -> None:
    """It lasts more than two sessions; with the old user's credentials it would end at the first."""
    topic = secured.new_topic()
    first, second = known_user(secured, OLD), known_user(secured, NEW)
    with GroupMember(member_config_of(secured, first, OLD, topic)) as member:
        member.subscribe([topic])
        member.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)
        member.set_sasl_credentials(second, NEW)
        add_user(secured, first, f"{OLD}-replaced")
        time.sleep(SESSIONS_S)
        assert (member.snapshot.state, member.error) == (MemberState.STABLE, None)
    assert NEW not in repr(vars(member))


def test_an_asyncio_member_starts_over_with_new_credentials(secured: SecureKafka) -> None:
    """The call need not be awaited, because it sends nothing."""
    topic = secured.new_topic()
    name = known_user(secured, NEW)

    async def start_over() -> None:
        async with aio.GroupMember(member_config_of(secured, name, OLD, topic)) as member:
            member.subscribe([topic])
            with pytest.raises(AuthenticationError):
                await member.wait_until(MemberState.STABLE, PATIENCE_S)
            member.set_sasl_credentials(name, NEW)
            member.subscribe([topic])
            await member.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)

    asyncio.run(start_over())


def test_an_asyncio_consumer_starts_over_with_new_credentials(secured: SecureKafka) -> None:
    """Both its membership and its fetching use them: it reads a record."""
    topic = secured.new_topic()
    name = known_user(secured, NEW)
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    producer.produce(topic, b"record", partition=0)
    producer.flush()

    async def start_over() -> None:
        async with aio.Consumer(config_of(secured, name, OLD, topic)) as consumer:
            consumer.subscribe([topic])
            with pytest.raises(AuthenticationError):
                await consumer.getone(timeout_s=PATIENCE_S)
            await consumer.set_sasl_credentials(name, NEW)
            consumer.subscribe([topic])
            record = await consumer.getone(timeout_s=PATIENCE_S)
            assert record is not None
            assert record.value() == b"record"

    asyncio.run(start_over())
