"""Members of `class Topic(str, Enum)` are good for every text, as an application passes its constants."""

from __future__ import annotations

import enum
import json
from pathlib import Path

from confluent_kafka import Producer

from membership_client import Consumer, GroupMember, MemberConfig, Offset, TopicPartition
from membership_client.arguments import checked_offsets, checked_path, plain
from membership_client.identity import HostSlot, numbered_id
from membership_client.testing import EmbeddedKafka


class Name(str, enum.Enum):  # noqa: UP042 - str() of a StrEnum's member is its value
    SHOP = "shop"
    ORDERS = "orders"
    TILL = "till-1"


class Number(enum.IntEnum):
    SEVEN = 7


def test_what_is_plain() -> None:
    """The type is that of the format: a trace has entries for these only."""
    plains = [plain(value) for value in (Name.SHOP, Number.SEVEN, True, None, b"x")]
    assert [(type(value), value) for value in plains] == [
        (str, "shop"),
        (int, 7),
        (bool, True),
        (type(None), None),
        (bytes, b"x"),
    ]


def test_a_configuration_and_offsets_are_plain() -> None:
    """In logs the group was "Name.SHOP"."""
    config = MemberConfig(bootstrap_servers="x:1", group_id=Name.SHOP, trace_file_keep=Number.SEVEN)
    assert (type(config.group_id), type(config.trace_file_keep)) == (str, int)
    ((partition, offset),) = checked_offsets({(Name.ORDERS, 0): Offset(Number.SEVEN, Number.SEVEN, Name.TILL)}).items()
    assert str(partition) == "orders-0"
    assert list(map(type, (partition.topic, offset.offset, offset.leader_epoch, offset.metadata))) == [
        str,
        int,
        int,
        str,
    ]


def test_identities_and_paths_are_plain(tmp_path: Path) -> None:
    """The instance id was that of "Name.TILL", and another one with the next version of Python."""
    assert numbered_id(Name.TILL, Number.SEVEN) == "till-1-7"
    with HostSlot(Name.TILL, directory=tmp_path, host="build") as slot:
        assert slot.instance_id == "till-1-build-0"
    assert checked_path("path", Name.SHOP) == Path("shop")


def test_a_consumer_reads_what_enum_members_name() -> None:
    """Librdkafka was given "Servers.MAIN" for an address: the member owned its partitions, and no record ever came."""
    with EmbeddedKafka(topics={"orders": 1}) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("orders", b"one")
        producer.flush()
        servers = enum.Enum("servers", {"MAIN": kafka.bootstrap_servers}, type=str)
        config = {"bootstrap.servers": servers.MAIN, "group.id": Name.SHOP, "auto.offset.reset": "earliest"}
        with Consumer(config) as consumer:
            consumer.subscribe([Name.ORDERS])
            (message,) = consumer.consume(1, 30.0)
            assert (message.topic(), message.value()) == ("orders", b"one")


def test_a_trace_has_all_steps(tmp_path: Path) -> None:
    """The class of a group's name had no entry in the format, so every step was missing, with a traceback in the log."""
    path = tmp_path / "trace.jsonl"
    with EmbeddedKafka(topics={"orders": 1}) as kafka:
        given = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": Name.SHOP, "group.instance.id": Name.TILL}
        with GroupMember({**given, "trace.file": str(path)}) as member:
            member.subscribe([Name.ORDERS])
            member.wait_until(lambda snapshot: bool(snapshot.owned), 30.0)
            member.commit({TopicPartition(Name.ORDERS, 0): 0})
            assert member.committed([TopicPartition(Name.ORDERS, 0)]) == {("orders", 0): Offset(0)}
    header, *steps = map(json.loads, path.read_text().splitlines())
    assert (header["group"], header["instance"]) == ("shop", "till-1")
    assert steps[0]["event"] == {"is": "Subscribe", "topics": ["orders"]}
    assert not any("missing" in step for step in steps)
