"""Writing messages: agreement with kio, byte for byte, on every request that we may send, in every version."""

from __future__ import annotations

import datetime as dt
import io
import random
import struct
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar
from uuid import UUID

import pytest
from kio.index import load_payload_module, load_request_schema
from kio.schema.consumer_protocol_assignment.v3.data import ConsumerProtocolAssignment
from kio.schema.consumer_protocol_subscription.v3.data import ConsumerProtocolSubscription
from kio.serial import entity_writer
from kio.static.constants import EntityType

from membership_client.net import codec
from membership_client.net.reader import is_array, is_message, item_of, without_none
from membership_client.net.writer import write
from membership_client.partitions import SHARED_LENGTH

_SASL_HANDSHAKE, _SASL_AUTHENTICATE, _API_VERSIONS = 17, 36, 18
_VERSIONS = {(api.key, version) for api in codec._APIS.values() for version in range(api.first, api.last + 1)}
_BEFORE_ANY = {
    (_SASL_HANDSHAKE, 1),
    *((_SASL_AUTHENTICATE, v) for v in range(3)),
    (_API_VERSIONS, 0),
    (_API_VERSIONS, 3),
}
REQUESTS: list[Any] = [load_request_schema(key, version) for key, version in sorted(_VERSIONS | _BEFORE_ANY)]
HEADERS: list[Any] = sorted({request.__header_schema__ for request in REQUESTS}, key=lambda header: header.__version__)
MESSAGES = [*REQUESTS, *HEADERS, ConsumerProtocolSubscription, ConsumerProtocolAssignment]
_SAMPLES = 10


def _ids(message: Any) -> str:
    return f"{message.__name__}-v{message.__version__}"


def _sample(message: Any, chance: random.Random) -> Any:
    """Any values that the fields can have; each kind of nothing, and lengths around those where the format changes."""
    hints = typing.get_type_hints(message)
    return message(**{f.name: _value(f.metadata.get("kafka_type"), hints[f.name], chance) for f in fields(message)})


def _value(kind: str | None, hint: Any, chance: random.Random) -> Any:
    hint, nullable = without_none(hint)
    if nullable and chance.random() < 0.3:
        return None
    if is_array(hint):
        most = 3 if is_message(item_of(hint)) else SHARED_LENGTH + 20
        return tuple(_value(kind, item_of(hint), chance) for _ in range(chance.choice([0, 1, most])))
    return _sample(hint, chance) if is_message(hint) else _VALUES[kind or ""](chance)


def _number(bits: int) -> Any:
    most = 2 ** (bits - 1)
    return lambda chance: chance.choice([-most, -1, 0, most - 1, chance.randrange(-most, most)])


_VALUES: dict[str, Any] = {
    "int8": _number(8),
    "int16": _number(16),
    "int32": _number(32),
    "int64": _number(64),
    "bool": lambda chance: chance.random() < 0.5,
    "string": lambda chance: chance.choice(["", "g", "größe", "x" * 126, "x" * 127, "x" * 128, "x" * 20_000]),
    "bytes": lambda chance: chance.choice([b"", b"\0", bytes(126), bytes(127), bytes(20_000)]),
    "uuid": lambda chance: UUID(int=chance.getrandbits(128)),
    "timedelta_i32": lambda chance: dt.timedelta(milliseconds=chance.choice([-1, 0, 45_000, 2**31 - 1])),
}


@pytest.mark.parametrize("message", MESSAGES, ids=_ids)
def test_our_writer_agrees_with_kio(message: Any) -> None:
    """Whatever its fields hold."""
    chance = random.Random(_ids(message))
    for _ in range(_SAMPLES):
        sample = _sample(message, chance)
        expected = io.BytesIO()
        entity_writer(message)(expected, sample)
        assert write(sample) == expected.getvalue()


def test_text_that_must_be_there_is_never_null() -> None:
    """A mistake of ours ends one request, and not the connection: the broker would close it."""
    handshake: Any = load_request_schema(_SASL_HANDSHAKE, 1)
    with pytest.raises(TypeError):
        write(handshake(mechanism=None))


def test_a_text_that_is_too_long_is_not_cut() -> None:
    """In the versions that count it with 16 bits."""
    handshake: Any = load_request_schema(_SASL_HANDSHAKE, 1)
    with pytest.raises(struct.error):
        write(handshake(mechanism="x" * 2**15))


@dataclass
class _Unknown:
    __flexible__: ClassVar[bool] = True
    when: int = field(default=0, metadata={"kafka_type": "float64"})


@dataclass
class _Tagged:
    __flexible__: ClassVar[bool] = True
    extra: int = field(default=0, metadata={"kafka_type": "int32", "tag": 0})


def test_a_type_that_no_message_of_ours_has_is_refused() -> None:
    """A new request with a type that was never written raises in the test of that request."""
    with pytest.raises(TypeError, match="none of the messages we write"):
        write(_Unknown())


def test_a_tagged_field_is_left_out() -> None:
    """It is optional by definition, and brokers of ours say nothing in any of them."""
    assert write(_Tagged(extra=5)) == b"\0"


@pytest.mark.parametrize(("api_key", "version"), sorted(_VERSIONS))
def test_no_request_of_ours_has_a_tagged_field(api_key: int, version: int) -> None:
    """One that is added later would be left out without a word."""
    module = load_payload_module(api_key, version, EntityType.request)
    messages = [each for each in vars(module).values() if is_dataclass(each) and each.__module__ == module.__name__]
    assert not [each for message in messages for each in fields(message) if "tag" in each.metadata]
