"""Every request that an embedded broker supports, in every version, without sockets."""

from __future__ import annotations

import io
import struct
from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.apis import APIS
from membership_client.testing.embedded.broker import Brokers, NoAnswer
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.settings import BrokerSettings
from membership_client.testing.embedded.wire import message_builder
from membership_client.types import Node

VERSIONS = [(api.name, api.key, version) for api in APIS.values() for version in range(api.first, api.last + 1)]


def brokers() -> Brokers:
    made = Brokers(Cluster([Node("127.0.0.1", 9092, 1)], BrokerSettings()))
    made.cluster.topics.create("orders", 2)
    return made


def ask(asked: Brokers, api_key: int, version: int, **fields: Any) -> Any:
    """The answer as kio reads it; None if there was none in time."""
    schema: Any = load_request_schema(api_key, version)
    header = schema.__header_schema__(
        request_api_key=api_key, request_api_version=version, correlation_id=5, client_id="me"
    )
    payload = io.BytesIO()
    entity_writer(type(header))(payload, header)
    entity_writer(schema)(payload, message_builder(schema)(fields))
    answers: list[bytes | NoAnswer] = []
    asked.receive(1, payload.getvalue(), 0.0, answers.append)
    answer = answers[0] if answers else NoAnswer.NONE_WANTED
    if isinstance(answer, NoAnswer):
        return None
    (size, correlation_id) = struct.unpack_from(">ii", answer)
    assert (size, correlation_id) == (len(answer) - 4, 5)
    wanted: Any = load_response_schema(api_key, version)
    _, header_size = entity_reader(wanted.__header_schema__)(answer[4:], 0)
    read, body_size = entity_reader(wanted)(answer[4:], header_size)
    assert header_size + body_size == size
    return read


@pytest.mark.parametrize(("name", "api_key", "version"), VERSIONS)
def test_each_version_is_answered_as_kio_reads_it(
    name: str, api_key: int, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    """This includes an empty request, and a request that is refused by a fault."""
    asked = brokers()
    first = ask(asked, api_key, version)
    asked.faults.codes[name].append((int(Code.NOT_COORDINATOR), 1))
    second = ask(asked, api_key, version)
    assert not caplog.records
    # A Produce without acknowledgement has no answer, and a Fetch that is not refused may wait.
    assert first is not None or name in {"Produce", "Fetch"}
    assert second is not None


@pytest.mark.parametrize(
    ("api_key", "version", "fields"),
    [
        (1, 12, {"topics": [{"topic": "orders", "partitions": [{"partition": 1}]}]}),
        (3, 9, {"topics": [{"name": "orders"}]}),
        (8, 9, {"topics": [{"name": "orders", "partitions": [{"partition_index": 1}]}]}),
        (9, 8, {"groups": [{"group_id": "g"}]}),
        (10, 4, {"coordinator_keys": ("g",)}),
        (24, 3, {"v3_and_below_topics": [{"name": "orders", "partitions": (1,)}]}),
        (28, 3, {"topics": [{"name": "orders", "partitions": [{"partition_index": 1}]}]}),
        (20, 5, {"topic_names": ("orders",)}),
        (42, 2, {"groups_names": ("g",)}),
        (69, 1, {"group_ids": ("g",)}),
        (0, 9, {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 1}]}]}),
        (12, 4, {"group_id": "g"}),
    ],
)
def test_a_refusal_has_the_code_where_kafka_has_it(api_key: int, version: int, fields: dict[str, Any]) -> None:
    """Each group, topic or partition in the request gets it, with its name."""
    asked = brokers()
    asked.faults.codes[APIS[api_key].name].append((int(Code.REQUEST_TIMED_OUT), 1))
    shown = repr(ask(asked, api_key, version, **fields))
    assert "request_timed_out" in shown
    assert "orders" in shown or "'g'" in shown or api_key == 12


def test_what_a_broker_lacks_ends_the_connection() -> None:
    """ApiVersions is an exception: the answer tells a newer client which versions there are."""
    answers: list[bytes | NoAnswer] = []
    asked = brokers()
    for api_key, version in ((17, 1), (0, 2), (18, 99)):
        asked.receive(1, struct.pack(">hhih", api_key, version, 5, -1) + b"\0", 0.0, answers.append)
    assert answers[:2] == [NoAnswer.DISCONNECT, NoAnswer.DISCONNECT]
    assert isinstance(answers[2], bytes)
    assert struct.unpack_from(">iih", answers[2])[1:] == (5, Code.UNSUPPORTED_VERSION)
