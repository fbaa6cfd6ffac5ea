"""MemberConfig: both dialects, and every mistake named at construction."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from membership_client import ConfigError, GroupMember, MemberConfig
from membership_client.config import parse_bootstrap
from membership_client.types import Node

NEEDED: dict[str, Any] = {"bootstrap_servers": "broker:9092", "group_id": "orders"}


def config(**settings: Any) -> MemberConfig:
    return MemberConfig(**(NEEDED | settings))


# --- dialects --------------------------------------------------------------------------------------------------------


def test_dotted_keys_and_keyword_arguments_mean_the_same() -> None:
    """Users of confluent-kafka and of kafka-python write keys as they are used to."""
    dotted = {"bootstrap.servers": "broker:9092", "group.id": "orders", "group.instance.id": "one", "client.rack": "a"}
    assert MemberConfig.from_dict(dotted) == config(group_instance_id="one", client_rack="a")
    assert MemberConfig.from_dict(NEEDED) == config()


def test_every_setting_is_accepted_in_both_dialects() -> None:
    """No field is reachable in one dialect only."""
    full = config(group_instance_id="one", retry_when_full_s=1.5)
    values = {field.name: getattr(full, field.name) for field in dataclasses.fields(full)}
    assert MemberConfig.from_dict(values) == full
    assert MemberConfig.from_dict({name.replace("_", "."): value for name, value in values.items()}) == full


def test_a_member_takes_a_mapping_or_a_config() -> None:
    """The first argument of GroupMember may be either."""
    for given in (config(), NEEDED):
        member = GroupMember(given)
        assert member.snapshot.group_id == "orders"
        member.close()


# --- unknown and foreign keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("group.idd", "group.id"),
        ("bootstrap_server", "bootstrap.servers"),
        ("max.poll.intervall.ms", "max.poll.interval.ms"),
        ("group.instance_id.conflikt", "group.instance.id.conflict"),
    ],
)
def test_a_slip_is_answered_with_the_nearest_key(slip: str, meant: str) -> None:
    """Unknown keys are refused, because a setting that is silently ignored is found out in production."""
    with pytest.raises(ConfigError, match=f"Did you mean '{meant}'"):
        MemberConfig.from_dict({**NEEDED, slip: "x"})


def test_a_key_like_no_other() -> None:
    """Where nothing is near, nothing is suggested."""
    with pytest.raises(ConfigError, match=r"Unknown configuration key 'zzz'\.$"):
        MemberConfig.from_dict({**NEEDED, "zzz": 1})


CLASSIC_SETTINGS = [
    ("session.timeout.ms", 6000, r"consumer\.session\.timeout\.ms"),
    ("session_timeout_ms", 6000, r"consumer\.session\.timeout\.ms"),
    ("heartbeat.interval.ms", 1000, r"consumer\.heartbeat\.interval\.ms"),
    ("partition.assignment.strategy", "range", r"group\.remote\.assignor"),
]


@pytest.mark.parametrize(("key", "value", "instead"), CLASSIC_SETTINGS)
def test_classic_settings_are_refused_with_what_replaced_them(key: str, value: object, instead: str) -> None:
    """Under KIP-848 the brokers decide these."""
    with pytest.raises(ConfigError, match=f"classic protocol.*{instead}"):
        MemberConfig.from_dict({**NEEDED, "group.protocol": "consumer", key: value})


@pytest.mark.parametrize("protocol", ["auto", "classic"])
@pytest.mark.parametrize(("key", "value", "instead"), CLASSIC_SETTINGS)
def test_classic_settings_are_taken_where_they_may_count(protocol: str, key: str, value: object, instead: str) -> None:
    """A member that may end up in a classic group takes the keys of that protocol."""
    MemberConfig.from_dict({**NEEDED, "group.protocol": protocol, key: value})


@pytest.mark.parametrize("given", ["range, roundrobin", ["range", "roundrobin"], ("range", "roundrobin")])
def test_strategies_are_a_list_or_separated_by_commas(given: object) -> None:
    """As Java has them, or as librdkafka does."""
    config = MemberConfig.from_dict({**NEEDED, "partition.assignment.strategy": given})
    assert config.partition_assignment_strategy == ("range", "roundrobin")


@pytest.mark.parametrize("missing", ["bootstrap.servers", "group.id"])
def test_what_is_missing_is_named(missing: str) -> None:
    """Not as a TypeError about keyword arguments."""
    given = {key: value for key, value in NEEDED.items() if key != missing.replace(".", "_")}
    with pytest.raises(ConfigError, match=f"^{missing} must be set"):
        MemberConfig.from_dict(given)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"group_id": ""},
        {"group_id": "  "},
        {"group_id": None},
        {"group_id": 7},
        {"client_id": ""},
        {"client_rack": ""},
        {"group_remote_assignor": ""},
        {"group_instance_id": ""},
        {"group_instance_id": "."},
        {"group_instance_id": ".."},
        {"group_instance_id": "a b"},
        {"group_instance_id": "x" * 250},
        {"group_instance_id": 1},
        {"group_instance_id_conflict": "shrug"},
        {"callback_errors": "ignore"},
        {"group_protocol": "modern"},
        {"group_protocol": "classic", "group_remote_assignor": "uniform"},
        {"partition_assignment_strategy": ()},
        {"partition_assignment_strategy": ("range", "range")},
        {"partition_assignment_strategy": ("range", "")},
        {"partition_assignment_strategy": "range"},
        {"session_timeout_ms": 3000, "heartbeat_interval_ms": 3000},
        {"max_poll_interval_ms": 0},
        {"max_poll_interval_ms": -1},
        {"max_poll_interval_ms": 2**31},
        {"max_poll_interval_ms": 1.5},
        {"max_poll_interval_ms": "300000"},
        {"max_poll_interval_ms": True},
        {"request_timeout_ms": None},
        {"retry_backoff_ms": 500, "retry_backoff_max_ms": 100},
        {"retry_when_full_s": 0},
        {"retry_when_full_s": float("inf")},
        {"retry_when_full_s": float("nan")},
        {"retry_when_full_s": True},
        {"bootstrap_servers": ""},
        {"bootstrap_servers": ","},
        {"bootstrap_servers": "broker:"},
        {"bootstrap_servers": "KERBEROS://broker:9092"},
        {"bootstrap_servers": "://broker:9092"},
        {"bootstrap_servers": "PLAINTEXT://clerk:secret@broker:9092"},
        {"bootstrap_servers": "broker/path"},
        {"bootstrap_servers": "two words"},
        {"bootstrap_servers": "clerk:secret@broker:9092"},
        {"trace_file": "{group.__class__}.jsonl"},
        {"trace_file": "{pid:>1000000}.jsonl"},
        {"trace_file": "{group!r}.jsonl"},
        {"trace_file": "{"},
        {"bootstrap_servers": "broker:0"},
        {"bootstrap_servers": "broker:65536"},
        {"bootstrap_servers": "broker:port"},
        {"bootstrap_servers": ["broker:9092"]},
        {"bootstrap_servers": None},
    ],
    ids=str,
)
def test_a_value_that_cannot_work_is_refused(settings: dict[str, Any]) -> None:
    """By name, in a ConfigError, which is a ValueError too."""
    with pytest.raises(ConfigError) as raised:
        config(**settings)
    assert isinstance(raised.value, ValueError)
    named = str(raised.value).replace("_", ".")
    assert any(key.replace("_", ".") in named for key in settings)


@pytest.mark.parametrize("instance_id", ["a", "A-1._b", "...", "x" * 249])
def test_legal_instance_ids(instance_id: str) -> None:
    """The same as Kafka's own client allows."""
    assert config(group_instance_id=instance_id).group_instance_id == instance_id


def test_bootstrap_servers() -> None:
    """Lists with spaces and empty entries, names and addresses of both families."""
    nodes = parse_bootstrap("a:1, b.example:65535,, [::1]:9092 ,127.0.0.1:2")
    assert nodes == (Node("a", 1), Node("b.example", 65535), Node("::1", 9092), Node("127.0.0.1", 2))
    assert [str(node) for node in nodes] == ["a:1", "b.example:65535", "[::1]:9092", "127.0.0.1:2"]


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ("broker", Node("broker", 9092)),
        ("PLAINTEXT://broker:19092", Node("broker", 19092)),
        ("plaintext://broker", Node("broker", 9092)),
        ("PLAINTEXT://broker:19092/path", Node("broker", 19092)),
        ("[::1]", Node("::1", 9092)),
        ("::1", Node("::1", 9092)),
        ("PLAINTEXT://[::1]:19092", Node("::1", 19092)),
        (":19092", Node("localhost", 19092)),
    ],
)
def test_addresses_are_written_as_in_librdkafka(written: str, node: Node) -> None:
    """The port is 9092 unless it is given, the host is this one, and a protocol may stand before it."""
    assert parse_bootstrap(written) == parse_bootstrap(written, "plaintext") == (node,)


def test_the_protocol_of_an_address_is_that_of_the_configuration() -> None:
    """Librdkafka passes over an address with another one, and over all addresses after it."""
    assert parse_bootstrap("SASL_SSL://broker", "sasl_ssl") == (Node("broker", 9092),)
    with pytest.raises(
        ConfigError, match=r"names the protocol ssl, and security\.protocol is plaintext: set it to ssl"
    ):
        parse_bootstrap("a:1,SSL://broker:9093", "plaintext")
    with pytest.raises(ConfigError, match=r"security\.protocol is plaintext"):
        GroupMember({**NEEDED, "bootstrap_servers": "SSL://broker:9093"})


@pytest.mark.parametrize("given", [6000, 6000.0, 6000.9, "6000", " 6000 ", "6000.0", "+6000", "0x1770", "013560"])
def test_numbers_of_a_mapping_are_written_as_in_librdkafka(given: object) -> None:
    """confluent-kafka turns every value into text, so floats and digits are common in configurations."""
    assert MemberConfig.from_dict({**NEEDED, "session.timeout.ms": given}).session_timeout_ms == 6000


@pytest.mark.parametrize("given", ["6000 ms", "6e3", "0x", "08", "", " ", "-6000", "9" * 30, float("nan"), True, None])
def test_what_is_no_number(given: object) -> None:
    """Librdkafka takes what follows a number for nothing, so that "5 minutes" is 5: that is refused here."""
    with pytest.raises(ConfigError, match=r"session\.timeout\.ms"):
        MemberConfig.from_dict({**NEEDED, "session.timeout.ms": given})


def test_words_of_a_mapping_may_be_in_any_case() -> None:
    """As in librdkafka."""
    made = MemberConfig.from_dict({**NEEDED, "group.protocol": "CLASSIC", "telemetry.member.id.label": "True"})
    assert made.group_protocol == "classic"
    assert made.telemetry_member_id_label is True


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_text_in_a_mapping_is_the_default(empty: object) -> None:
    """As in librdkafka: a template fills in nothing where nothing is set."""
    keys = ("client.id", "client.rack", "group.instance.id", "group.remote.assignor", "partition.assignment.strategy")
    assert MemberConfig.from_dict({**NEEDED, **dict.fromkeys(keys, empty)}) == config()


def test_a_config_cannot_be_changed() -> None:
    """It may be shared by members."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().group_id = "other"  # type: ignore[misc]


def test_an_address_with_a_password_is_not_repeated() -> None:
    """It was taken for a host's name, and shown in health and log."""
    with pytest.raises(ConfigError) as refused:
        parse_bootstrap("clerk:secret@broker:9092")
    assert "secret" not in str(refused.value)
