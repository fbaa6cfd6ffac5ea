"""One configuration, sorted by who acts on it."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from membership_client import ConfigError
from membership_client.consumer.settings import Settings, settings_of

BASE: dict[str, Any] = {"bootstrap.servers": "broker:9092", "group.id": "shop"}


def settings(**more: Any) -> Settings:
    return settings_of({**BASE, **more})


def test_what_concerns_both_reaches_both() -> None:
    """One address list, one client id and one rack serve membership and fetching."""
    made = settings(**{"client.id": "till", "client.rack": "r1"})
    assert (made.member.client_id, made.member.client_rack) == ("till", "r1")
    assert made.fetcher["client.id"] == "till"
    assert made.fetcher["client.rack"] == "r1"
    assert made.fetcher["bootstrap.servers"] == "broker:9092"


def test_what_concerns_the_group_stays_with_the_member() -> None:
    """Librdkafka never hears of an instance id, so it can never join under it."""
    made = settings(**{"group.instance.id": "till-1", "max.poll.interval.ms": 1000, "callback_errors": "leave"})
    assert made.member.group_instance_id == "till-1"
    assert made.member.max_poll_interval_ms == 1000
    assert made.member.callback_errors == "leave"
    assert not made.fetcher.keys() & {"group.instance.id", "max.poll.interval.ms", "callback_errors", "callback.errors"}


def test_what_concerns_fetching_passes_through() -> None:
    """Unknown keys too: librdkafka's constructor knows them, or refuses them."""
    made = settings(**{"fetch.min.bytes": 5, "isolation.level": "read_committed", "no.such.key": 1})
    assert made.fetcher["fetch.min.bytes"] == 5
    assert made.fetcher["isolation.level"] == "read_committed"
    assert made.fetcher["no.such.key"] == 1


def test_librdkafka_neither_commits_nor_stores_by_itself() -> None:
    """Whatever the application said about it is done by us, as the member."""
    made = settings(**{"enable.auto.commit": True, "enable.auto.offset.store": True, "on_commit": print})
    assert made.fetcher["enable.auto.commit"] is False
    assert made.fetcher["enable.auto.offset.store"] is False
    assert "on_commit" not in made.fetcher
    assert made.on_commit is print


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 5.0),
        ({"auto.commit.interval.ms": 250}, 0.25),
        ({"auto.commit.interval.ms": "250"}, 0.25),
        ({"auto.commit.interval.ms": 0}, None),
        ({"enable.auto.commit": False}, None),
        ({"enable.auto.commit": "false"}, None),
    ],
)
def test_automatic_commits_are_on_unless_switched_off(given: dict[str, Any], seconds: float | None) -> None:
    """With librdkafka's defaults, in its spellings."""
    assert settings(**given).auto_commit_s == seconds


@pytest.mark.parametrize(
    ("reset", "start"),
    [
        ("earliest", confluent_kafka.OFFSET_BEGINNING),
        ("smallest", confluent_kafka.OFFSET_BEGINNING),
        ("latest", confluent_kafka.OFFSET_END),
        ("error", confluent_kafka.OFFSET_INVALID),
    ],
)
def test_where_nothing_was_committed_auto_offset_reset_decides(reset: str, start: int) -> None:
    """And librdkafka hears of it as well, for offsets that are out of range."""
    made = settings(**{"auto.offset.reset": reset})
    assert made.start == start
    assert made.fetcher["auto.offset.reset"] == reset
    assert settings().start == confluent_kafka.OFFSET_END


def test_a_duration_decides_where_nothing_was_committed() -> None:
    """As in Java. Librdkafka does not know it, and is told to report such partitions."""
    made = settings(**{"auto.offset.reset": "by_duration:PT1H30M"})
    assert made.reset_s == 5400
    assert made.start == confluent_kafka.OFFSET_INVALID
    assert made.fetcher["auto.offset.reset"] == "error"
    assert settings().reset_s is None


def test_old_spellings_are_understood() -> None:
    """Keyword arguments, the older name of the address list, and the nested topic configuration."""
    nested = {"default.topic.config": {"auto.offset.reset": "earliest"}}
    made = settings_of({"metadata.broker.list": "old:9092", "group_id": "shop", **nested})
    assert made.member.bootstrap_servers == "old:9092"
    assert made.fetcher["bootstrap.servers"] == "old:9092"
    assert made.start == confluent_kafka.OFFSET_BEGINNING


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("heartbeat.interval.ms", 45000, "session.timeout.ms"),
        ("partition.assignment.strategy", "range,range", "twice"),
        ("group.protocol", "modern", "group.protocol"),
        ("security.protocol", "kerberos", "must be one of plaintext, ssl"),
        ("ssl.providers", "legacy", "OPENSSL_CONF"),
        ("topic.blacklist", "^test", "subscribe by a pattern"),
        ("rebalance_cb", print, "give on_assign, on_revoke and on_lost to subscribe"),
        ("group.protocol.type", "connect", "must be consumer"),
        ("offset.store.method", "file", "must be broker"),
        ("auto.offset.reset", "by_duration:1h", "such as P1D, PT6H or PT1H30M"),
        ("auto.offset.reset", "by_duration:-PT1H", "that is not negative"),
        ("auto.offset.reset", "middle", "earliest"),
        ("enable.auto.commit", "perhaps", "true or false"),
        ("auto.commit.interval.ms", -1, "milliseconds"),
        ("max.poll.interval.ms", "soon", "milliseconds"),
        ("group.instance.id", "no/slash", "group.instance.id"),
    ],
)
def test_what_would_be_ignored_or_cannot_work_is_refused_at_once(key: str, value: object, told: str) -> None:
    """With the key, and with what to do instead."""
    with pytest.raises(ConfigError, match=told) as refused:
        settings(**{key: value})
    assert key in str(refused.value)


def test_values_are_taken_as_librdkafka_takes_them() -> None:
    """Numbers as floats and texts, words in any case, addresses without a port, an empty client id."""
    made = settings_of(
        {
            "bootstrap.servers": "PLAINTEXT://broker",
            "group.id": "shop",
            "group.protocol": "CLASSIC",
            "group.protocol.type": "consumer",
            "session.timeout.ms": "6000",
            "max.poll.interval.ms": 90000.0,
            "auto.commit.interval.ms": "0x64",
            "enable.auto.offset.store": "F",
            "auto.offset.reset": "Earliest",
            "security.protocol": "PLAINTEXT",
            "client.id": "",
        }
    )
    assert (made.member.session_timeout_ms, made.member.max_poll_interval_ms) == (6000, 90000)
    assert (made.member.group_protocol, made.member.client_id) == ("classic", "membership-client")
    assert (made.auto_commit_s, made.auto_store) == (0.1, False)
    assert made.start == confluent_kafka.OFFSET_BEGINNING


def test_secrets_are_not_shown() -> None:
    """What is meant for librdkafka may hold a password."""
    password = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "hunter2"}
    made = settings(**{"security.protocol": "SASL_PLAINTEXT", **password})
    assert made.fetcher["sasl.password"] == "hunter2"
    assert "hunter2" not in repr(made)
