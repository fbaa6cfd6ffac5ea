"""Read the messages that kio describes from bytes that cannot be trusted.

kio's classes say what a message looks like; its own native reader is kept away from what a peer sent, for two reasons.
It reserves memory for as many elements as an array claims to have: a 20-byte answer that claims four billion aborts the
process, which no `except` can prevent. And it raises on an error code that is newer than its own list, where we want the
number. Everything else about the format is taken from the classes' own fields.
"""

from __future__ import annotations

import datetime as dt
import functools
import struct
import types
import typing
import uuid
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from kio.static.protocol import Entity

    E = TypeVar("E", bound=Entity)

_NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "error_code": "h"}
_VARINT_BYTES = 5
_NIL = bytes(16)


class Undecodable(Exception):  # noqa: N818 - it says what the bytes are
    """These bytes are not the message that was expected."""


class Cursor:
    """A position in received bytes. Whatever would reach past the end raises Undecodable."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def remaining(self) -> int:
        return len(self._data) - self._at

    def skip(self, count: int) -> int:
        """Step over that many bytes and say where they begin."""
        start = self._at
        if not 0 <= count <= len(self._data) - start:
            raise Undecodable(f"{count} bytes expected at byte {start} of {len(self._data)}")
        self._at = start + count
        return start

    def take(self, count: int) -> bytes:
        start = self.skip(count)
        return self._data[start : self._at]

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        return layout.unpack_from(self._data, self.skip(layout.size))


Reader = Callable[[Cursor], Any]


def read(entity: type[E], cursor: Cursor) -> E:
    """Read one message of that type. Its error codes are plain numbers, and unknown tagged fields are skipped.

    Time and memory are bounded by the length of the input: no count in it is believed before that many bytes are there.

    Raises:
        Undecodable: and nothing else, whatever the bytes are.
    """
    message: E = _entity_reader(entity)(cursor)
    return message


@functools.cache
def _entity_reader(entity: Any) -> Reader:
    # Tagged fields are optional by definition, and none of those that our answers may carry is of use to us.
    plan = tuple((field.name, _field_reader(entity, field)) for field in fields(entity) if "tag" not in field.metadata)
    flexible = entity.__flexible__

    def read_entity(cursor: Cursor) -> Any:
        values = {name: read_field(cursor) for name, read_field in plan}
        if flexible:
            _skip_tagged_fields(cursor)
        return entity(**values)

    return read_entity


def _field_reader(entity: type[Any], field: Field[Any]) -> Reader:
    hint, nullable = _without_none(typing.get_type_hints(entity)[field.name])
    kind = field.metadata.get("kafka_type")
    if typing.get_origin(hint) is tuple:
        return _array_reader(typing.get_args(hint)[0], kind, nullable=nullable, flexible=entity.__flexible__)
    if _is_entity(hint):
        return _nullable_entity_reader(hint) if nullable else _entity_reader(hint)
    return _value_reader(kind, nullable=nullable, flexible=entity.__flexible__)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) is not types.UnionType:
        return hint, False
    (inner,) = (option for option in typing.get_args(hint) if option is not types.NoneType)
    return inner, True


def _is_entity(hint: Any) -> bool:
    return is_dataclass(hint)


def _value_reader(kind: str | None, *, nullable: bool, flexible: bool) -> Reader:
    match kind:
        case "string":
            return _string_reader(nullable=nullable, flexible=flexible)
        case "bool":
            return _read_bool
        case "uuid":
            return _read_uuid
        case "timedelta_i32":
            return _read_milliseconds
        case str():
            return _number_reader(_NUMBERS[kind])
    raise TypeError("kio describes a value without its wire type")


def _number_reader(code: str) -> Reader:
    layout = struct.Struct(">" + code)

    def read_number(cursor: Cursor) -> int:
        number: int = cursor.unpack(layout)[0]
        return number

    return read_number


_read_int8 = _number_reader("b")
_read_int16 = _number_reader("h")
_read_int32 = _number_reader("i")


def _read_bool(cursor: Cursor) -> bool:
    return cursor.take(1) != b"\0"


def _read_uuid(cursor: Cursor) -> uuid.UUID | None:
    """The nil id stands for "none", as in kio."""
    octets = cursor.take(16)
    return None if octets == _NIL else uuid.UUID(bytes=octets)


def _read_milliseconds(cursor: Cursor) -> dt.timedelta:
    return dt.timedelta(milliseconds=_read_int32(cursor))


def _read_varint(cursor: Cursor) -> int:
    value = 0
    for shift in range(0, 7 * _VARINT_BYTES, 7):
        octet = cursor.take(1)[0]
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value
    raise Undecodable("a variable-length number does not end")


def _read_compact_length(cursor: Cursor) -> int:
    return _read_varint(cursor) - 1


def _string_reader(*, nullable: bool, flexible: bool) -> Reader:
    read_length = _read_compact_length if flexible else _read_int16

    def read_string(cursor: Cursor) -> str | None:
        length = read_length(cursor)
        if length == -1 and nullable:
            return None
        try:
            return cursor.take(length).decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"a text is not UTF-8: {error}") from error

    return read_string


def _array_reader(item: Any, kind: str | None, *, nullable: bool, flexible: bool) -> Reader:
    read_length = _read_compact_length if flexible else _read_int32
    read_items = _items_reader(item, kind, flexible=flexible)

    def read_array(cursor: Cursor) -> tuple[Any, ...] | None:
        length = read_length(cursor)
        if length == -1 and nullable:
            return None
        # Every element takes a byte at least, so a greater count is a lie.
        if not 0 <= length <= cursor.remaining:
            raise Undecodable(f"{length} elements announced, {cursor.remaining} bytes left")
        return read_items(cursor, length)

    return read_array


def _items_reader(item: Any, kind: str | None, *, flexible: bool) -> Callable[[Cursor, int], tuple[Any, ...]]:
    if kind in _NUMBERS:
        code = _NUMBERS[kind]
        # Partition numbers come by the ten thousand: one call into C for all of them.
        return lambda cursor, length: cursor.unpack(struct.Struct(f">{length}{code}"))
    read_item = _entity_reader(item) if _is_entity(item) else _value_reader(kind, nullable=False, flexible=flexible)
    return lambda cursor, length: tuple([read_item(cursor) for _ in range(length)])


def _nullable_entity_reader(entity: Any) -> Reader:
    read_entity = _entity_reader(entity)
    # A byte tells (KIP-893): negative for null.
    return lambda cursor: None if _read_int8(cursor) < 0 else read_entity(cursor)


def _skip_tagged_fields(cursor: Cursor) -> None:
    for _ in range(_read_varint(cursor)):
        _read_varint(cursor)
        cursor.skip(_read_varint(cursor))
