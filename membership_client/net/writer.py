"""Write the messages that kio describes.

kio's own writer makes two Python calls for every number. An acknowledgement has one number per partition, so 50,000 of
them took 15 ms of the membership thread; here an array of numbers is one call. Importing kio's writer takes another 70 ms.
The classes' fields say everything about the format, as in `reader`.

A writer is a function from a value to its bytes. It raises what `struct` and `str.encode` raise.
"""

from __future__ import annotations

import datetime as dt
import functools
import struct
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from operator import attrgetter
from typing import Any

from membership_client.net.reader import NUMBERS, is_array, is_message, is_number, item_of, without_none
from membership_client.partitions import SHARED_ARRAYS, SHARED_LENGTH

_Writer = Callable[[Any], bytes]

_NIL = bytes(16)
_NO_TAGGED_FIELDS = b"\0"
_NULL = -1
_SHORT = 0x7F
_SHORT_LENGTHS = [bytes([number]) for number in range(_SHORT + 1)]
_INT16 = struct.Struct(">h").pack
_INT32 = struct.Struct(">i").pack


def write(message: Any) -> bytes:
    """One of kio's messages in Kafka's format. Tagged fields are left out: they are optional by definition."""
    kind: Any = type(message)
    return _message_writer(kind)(message)


@functools.cache
def _message_writer(message: Any) -> _Writer:
    hints = typing.get_type_hints(message)
    plain = [field for field in fields(message) if "tag" not in field.metadata]
    writers = [(attrgetter(field.name), _field_writer(message, field, hints[field.name])) for field in plain]
    end = _NO_TAGGED_FIELDS if message.__flexible__ else b""

    def write_message(value: Any) -> bytes:
        return b"".join([*[writer(get(value)) for get, writer in writers], end])

    return write_message


def _field_writer(message: Any, field: Field[Any], hint: Any) -> _Writer:
    kind: str = field.metadata.get("kafka_type", "")
    if is_number(field, hint):
        return struct.Struct(">" + NUMBERS[kind]).pack
    hint, nullable = without_none(hint)
    # The client id in a header keeps the old format in all versions, since brokers must read it before they know which.
    flexible = message.__flexible__ and (message.__name__, field.name) != ("RequestHeader", "client_id")
    if is_array(hint):
        return _array_writer(item_of(hint), kind, flexible=flexible)
    if is_message(hint):
        return _nullable_message_writer(hint) if nullable else _message_writer(hint)
    return _value_writer(kind, nullable=nullable, flexible=flexible)


def _value_writer(kind: str, *, nullable: bool, flexible: bool) -> _Writer:
    match kind:
        case "string":
            return _text_writer(str.encode, _INT16, nullable=nullable, flexible=flexible)
        case "bytes" | "records":
            return _text_writer(bytes, _INT32, nullable=nullable, flexible=flexible)
        case "uuid":
            return _write_uuid
        case "timedelta_i32":
            return _write_milliseconds
    raise TypeError(f"none of the messages we write had a value of type {kind}")


def _text_writer(
    to_bytes: Callable[[Any], bytes], write_short_length: _Writer, *, nullable: bool, flexible: bool
) -> _Writer:
    """A string or bytes, which differ in their length before the flexible versions."""
    write_length = _write_compact_length if flexible else write_short_length

    def write_text(value: str | bytes | None) -> bytes:
        if value is None and nullable:
            return write_length(_NULL)
        octets = to_bytes(value)
        return write_length(len(octets)) + octets

    return write_text


def _write_uuid(value: uuid.UUID | None) -> bytes:
    """None is written as the nil id, as in kio."""
    return _NIL if value is None else value.bytes


def _write_milliseconds(value: dt.timedelta) -> bytes:
    return _INT32(round(value.total_seconds() * 1000))


def _write_compact_length(length: int) -> bytes:
    """The length plus one, because zero means null, with seven bits in each byte."""
    if length < _SHORT:
        return _SHORT_LENGTHS[length + 1]
    rest, octets = length + 1, bytearray()
    while rest >= 0x80:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    octets.append(rest)
    return bytes(octets)


def _array_writer(item: Any, kind: str, *, flexible: bool) -> _Writer:
    write_length = _write_compact_length if flexible else _INT32
    write_items = _numbers_writer(NUMBERS[kind]) if kind in NUMBERS else _items_writer(item, kind, flexible=flexible)

    def write_array(items: Sequence[Any] | None) -> bytes:
        return write_length(_NULL) if items is None else write_length(len(items)) + write_items(items)

    return write_array


@functools.cache
def _numbers_writer(code: str) -> Callable[[Sequence[Any]], bytes]:
    def pack(numbers: Sequence[Any]) -> bytes:
        return struct.pack(f">{len(numbers)}{code}", *numbers)

    pack_known = functools.lru_cache(maxsize=SHARED_ARRAYS)(pack)
    return lambda numbers: (pack_known if len(numbers) <= SHARED_LENGTH else pack)(numbers)


def _items_writer(item: Any, kind: str, *, flexible: bool) -> Callable[[Sequence[Any]], bytes]:
    write_item = _message_writer(item) if is_message(item) else _value_writer(kind, nullable=False, flexible=flexible)
    return lambda items: b"".join(map(write_item, items))


def _nullable_message_writer(message: Any) -> _Writer:
    write_message = _message_writer(message)

    def write_nullable(value: Any) -> bytes:
        # A byte tells (KIP-893): negative for null.
        return b"\xff" if value is None else b"\x01" + write_message(value)

    return write_nullable
