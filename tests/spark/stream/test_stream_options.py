"""The options of a stream: what Spark users know is taken, and what cannot work is told in a sentence."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as some

from membership_client import ConfigError, TopicPartition
from membership_client_spark.stream.options import EARLIEST, LATEST, stream_settings

GOOD = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders", "group.id": "shop", "name": "copy"}


def test_the_least_that_is_needed() -> None:
    """One slot, from the committed offsets on, without headers, and an error for lost records, as in Spark's source."""
    settings = stream_settings(GOOD)
    assert (settings.topics, settings.name, settings.slots, settings.max_offsets) == (("orders",), "copy", 1, None)
    assert settings.starting_at(TopicPartition("orders", 0)) is None
    assert settings.fail_on_data_loss
    assert not settings.with_headers
    assert settings.clients.members == {"bootstrap.servers": "localhost:9092", "group.id": "shop"}


def test_all_options() -> None:
    """In any case, as Spark takes options; the group's id by either of its names."""
    given = {key: value for key, value in GOOD.items() if key != "group.id"} | {
        "kafka.group.id": "shop",
        "Subscribe": "orders, bills",
        "SLOTS": "3",
        "maxOffsetsPerTrigger": "100",
        "startingOffsets": '{"bills": {"0": 23, "1": -2}}',
        "failOnDataLoss": "FALSE",
        "includeHeaders": "true",
    }
    del given["subscribe"]
    settings = stream_settings(given)
    assert (settings.topics, settings.slots, settings.max_offsets) == (("orders", "bills"), 3, 100)
    wanted = [settings.starting_at(TopicPartition("bills", number)) for number in range(3)]
    assert wanted == [23, EARLIEST, None]
    assert (settings.fail_on_data_loss, settings.with_headers) == (False, True)
    assert settings.clients.members["group.id"] == "shop"
    assert stream_settings(GOOD | {"startingOffsets": "Latest"}).starting == LATEST


def test_keys_of_the_java_client() -> None:
    """They are spelt as for Spark's own source; those of librdkafka stay as they are."""
    java = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": 'o.PlainLoginModule required username="u" password="hidden";',
        "kafka.fetch.max.wait.ms": "20",
        "kafka.max.partition.fetch.bytes": "1000000",
        "kafka.session.timeout.ms": "30000",
    }
    clients = stream_settings(GOOD | java).clients
    assert clients.readers["sasl.username"] == "u"
    assert clients.readers["fetch.wait.max.ms"] == "20"
    assert clients.members["session.timeout.ms"] == "30000"
    assert "hidden" not in repr(stream_settings(GOOD | java))
    plain = {"kafka.security.protocol": "sasl_plaintext", "kafka.sasl.mechanism": "PLAIN"}
    own = stream_settings(GOOD | plain | {"kafka.sasl.username": "u", "kafka.sasl.password": "p"}).clients
    assert own.readers["sasl.password"] == "p"


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("subscribe", "", "The option subscribe is missing. Set it to the topics"),
        ("subscribe", "a b", "topics"),
        ("subscribe", "^orders.*", "topics"),
        ("name", "", "The option name is missing"),
        ("name", "a/b", "name"),
        ("group.id", " ", "The option group.id is missing"),
        ("kafka.group.id", "till", "group.id is 'shop' and kafka.group.id is 'till': set one of them"),
        ("kafka.bootstrap.servers", "", "The option kafka.bootstrap.servers is missing"),
        ("bootstrap.servers", "h:1", "begin with kafka.: kafka.bootstrap.servers"),
        ("slots", "0", "slots must be a whole number, at least 1, not '0'"),
        ("slots", "two", "slots must be a whole number"),
        ("slots", "99999999999", "slots must be a whole number"),
        ("maxOffsetsPerTrigger", "-1", "maxOffsetsPerTrigger must be a whole number, at least 1, not '-1'"),
        ("startingOffsets", "newest", "startingOffsets must be committed, earliest, latest, or offsets as JSON"),
        ("startingOffsets", '{"orders": {"0": -3}}', "startingOffsets must be"),
        ("startingOffsets", '{"orders": {"x": 3}}', "startingOffsets must be"),
        ("startingOffsets", '{"orders": {"0": 1.5}}', "startingOffsets must be"),
        ("startingOffsets", '{"orders": {"-1": 3}}', "startingOffsets must be"),
        ("startingOffsets", "[]", "startingOffsets must be"),
        ("startingOffsets", '{"bills": {"0": 3}}', "names bills, which subscribe does not have"),
        ("failOnDataLoss", "maybe", "failOnDataLoss must be true or false, not 'maybe'"),
        ("includeHeaders", "2", "includeHeaders must be true or false"),
        ("subscribePattern", "o.*", "kafka-group has no option subscribepattern. Name the topics in subscribe"),
        ("maxOffsetPerTrigger", "5", "It has subscribe, group.id, name, slots, maxOffsetsPerTrigger"),
        ("kafka.max.poll.records", "5", "use maxOffsetsPerTrigger"),
        ("kafka.enable.auto.commit", "true", "kafka.enable.auto.commit cannot be set for kafka-group"),
        ("kafka.group.instance.id", "x", "kafka.group.instance.id cannot be set for kafka-group"),
        ("kafka.no.such.key", "x", "no.such.key"),
        ("kafka.session.timeout.ms", "soon", "session.timeout.ms"),
        ("kafka.sasl.jaas.config", "x", "sasl"),
    ],
)
def test_what_cannot_work(option: str, value: str, told: str) -> None:
    """ConfigError before anything is started, and it says which option is meant."""
    given = GOOD | {option: value}
    if option == "kafka.sasl.jaas.config":
        given |= {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "PLAIN"}
    with pytest.raises(ConfigError) as raised:
        stream_settings(given)
    assert told in str(raised.value)


_KEYS = (
    *("subscribe", "group.id", "name", "slots", "maxOffsetsPerTrigger", "startingOffsets", "failOnDataLoss"),
    *(
        "includeHeaders",
        "kafka.bootstrap.servers",
        "kafka.auto.offset.reset",
        "kafka.security.protocol",
        "kafka.x",
        "x",
    ),
    *("kafka.sasl.jaas.config", "kafka.ssl.truststore.location", "kafka.isolation.level", "kafka.fetch.max.wait.ms"),
)
_JSON = some.recursive(
    some.integers() | some.text(max_size=3), lambda inner: some.dictionaries(some.text(max_size=3), inner)
)


@drawn(some.sampled_from(_KEYS), some.text(max_size=20) | _JSON.map(str) | some.integers().map(str))
def test_any_text_is_taken_or_refused_with_a_sentence(option: str, value: str) -> None:
    """Options are texts; whatever a user types, it is no other error than ConfigError."""
    with contextlib.suppress(ConfigError):
        stream_settings(GOOD | {option: value})
