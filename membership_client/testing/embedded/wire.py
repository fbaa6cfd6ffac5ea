"""The broker's side of Kafka's protocol: reads requests and writes answers, with kio's schemas."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import struct
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from membership_client.net.reader import NUMBERS, Undecodable, is_array, is_message, item_of, read, without_none
from membership_client.net.writer import write

Fields = Mapping[str, Any]
"""The fields of an answer by kio's names. Lists of messages are lists of such mappings. Fields of other versions are ignored;
missing fields have their default, or are zero or empty."""

_HEADER = struct.Struct(">hhi")
_TEXT_LENGTH = struct.Struct(">h")
_FRAME = struct.Struct(">ii")
_NO_TIME = dt.timedelta()


@dataclass(frozen=True, slots=True)
class Header:
    """The beginning of a request."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str
    size: int
    """The size in bytes, without the tagged fields of flexible versions."""


def read_header(payload: bytes) -> Header:
    """The header of a frame without its size. Raises Undecodable."""
    try:
        api_key, version, correlation_id = _HEADER.unpack_from(payload)
        (length,) = _TEXT_LENGTH.unpack_from(payload, _HEADER.size)
        start = _HEADER.size + _TEXT_LENGTH.size
        end = start + max(0, length)
        return Header(api_key, version, correlation_id, payload[start:end].decode(), end)
    except (struct.error, UnicodeDecodeError) as error:
        raise Undecodable("it does not begin with the header of a request") from error


def read_request(header: Header, payload: bytes) -> Any:
    """The request as an object of kio's class. The cluster must support the version. Raises Undecodable."""
    schema = _request_schema(header.api_key, header.version)
    start = header.size
    if schema.__header_schema__.__flexible__:
        _, start = read(_tagged_fields(), payload, start)
    request, _ = read(schema, payload, start)
    return request


def write_answer(header: Header, version: int, fields: Fields) -> bytes:
    """The bytes of the answer to a request, with their size in front."""
    schema = answer_schema(header.api_key, version)
    body = write(message_builder(schema)(fields))
    tags = b"\0" if schema.__header_schema__.__flexible__ else b""
    return _FRAME.pack(4 + len(tags) + len(body), header.correlation_id) + tags + body


@functools.cache
def answer_schema(api_key: int, version: int) -> Any:
    from kio.index import load_response_schema  # noqa: PLC0415 - a cluster is ready before kio is loaded

    return load_response_schema(api_key, version)


@functools.cache
def _request_schema(api_key: int, version: int) -> Any:
    from kio.index import load_request_schema  # noqa: PLC0415 - a cluster is ready before kio is loaded

    return load_request_schema(api_key, version)


@functools.cache
def _tagged_fields() -> Any:
    """The schema of a message that has only tagged fields, which ends a header."""
    made: Any = dataclasses.make_dataclass("TaggedFields", [])
    made.__flexible__ = True
    return made


# --- from fields to kio's messages -----------------------------------------------------------------------------------


@functools.cache
def message_builder(message: Any) -> Callable[[Fields], Any]:
    """A function that makes a message of kio from its fields."""
    hints = typing.get_type_hints(message)
    plain = [field for field in dataclasses.fields(message) if "tag" not in field.metadata]
    parts = [(field.name, _default(field, hints[field.name]), _converter(hints[field.name])) for field in plain]

    def build(fields: Fields) -> Any:
        values = {}
        for name, default, convert in parts:
            value = fields.get(name, default)
            values[name] = value if convert is None else convert(value)
        return message(**values)

    return build


def _default(field: dataclasses.Field[Any], hint: Any) -> Any:
    kind = field.metadata.get("kafka_type")
    if kind == "datetime_i64":
        return -1
    if field.default is not dataclasses.MISSING:
        return field.default
    hint, nullable = without_none(hint)
    if is_array(hint):
        return ()
    if nullable:
        return None
    if is_message(hint):
        return {}
    return _NO_TIME if kind == "timedelta_i32" else 0 if kind in NUMBERS else b"" if kind == "bytes" else ""


def _converter(hint: Any) -> Callable[[Any], Any] | None:
    hint, _ = without_none(hint)
    if is_array(hint) and is_message(item_of(hint)):
        build = message_builder(item_of(hint))
        return lambda items: None if items is None else tuple(map(build, items))
    if is_message(hint):
        build_one = message_builder(hint)
        return lambda fields: None if fields is None else build_one(fields)
    return None
