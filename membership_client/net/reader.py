"""Read the messages that kio describes from bytes that cannot be trusted.

kio's classes say what a message looks like; its own native reader is kept away from what a peer sent, for two reasons.
It reserves memory for as many elements as an array claims to have: a 20-byte answer that claims four billion aborts the
process, which no `except` can prevent. And it raises on an error code that is newer than its own list, where we want the
number. Everything else about the format is taken from the classes' own fields.

A reader is a function from the bytes and a position to a value and the position after it. Running off the end is an
IndexError or a struct.error, which `read` alone translates.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import struct
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from membership_client.net.channel import MAX_FRAME_BYTES
from membership_client.partitions import SHARED_ARRAYS, SHARED_LENGTH

if TYPE_CHECKING:
    from kio.static.protocol import Entity

    E = TypeVar("E", bound=Entity)


# --- types of the fields of kio's messages ---------------------------------------------------------------------------


NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "error_code": "h", "bool": "?"}
"""The types that `struct` reads and writes, with its letters."""
# A time of 64 bits stays a number of milliseconds: the longest would be no timedelta, and no date.
NUMBERS |= {"timedelta_i64": "q", "datetime_i64": "q"}


def is_number(field: Field[Any], hint: Any) -> bool:
    """Is it one number, and no array of them?"""
    return field.metadata.get("kafka_type") in NUMBERS and not is_array(hint)


def is_array(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple


def item_of(hint: Any) -> Any:
    """The type of an array's elements."""
    return typing.get_args(hint)[0]


def without_none(hint: Any) -> tuple[Any, bool]:
    """The type itself, and whether null is allowed beside it."""
    if typing.get_origin(hint) is not types.UnionType:
        return hint, False
    (inner,) = (option for option in typing.get_args(hint) if option is not types.NoneType)
    return inner, True


def is_message(hint: Any) -> bool:
    return is_dataclass(hint)


# --- reading ---------------------------------------------------------------------------------------------------------


_Reader = Callable[[bytes, int], tuple[Any, int]]
# Reads one or more neighbouring fields into the dictionary, and returns the position after them.
_Step = Callable[[bytes, int, dict[str, Any]], int]

_VARINT_BITS = 35

MOST_ITEMS = 100_000
"""The most messages in one list: no cluster has more topics, no topic more partitions, no group more members."""
_MOST_TAGS = 64
_SHARED_IDS = 32_768
_NIL = bytes(16)


class Undecodable(Exception):  # noqa: N818 - it says what the bytes are
    """These bytes are not the message that was expected."""


def read(entity: type[E], data: bytes, at: int = 0) -> tuple[E, int]:
    """Read one message of that type; also say where it ends. Its error codes are plain numbers.

    Time and memory are bounded by the length of the input: no count in it is believed before that many bytes are there.

    Raises:
        Undecodable: the bytes are no such message. Nothing else is raised, whatever they are.
    """
    try:
        message, end = _entity_reader(entity)(data, at)
    except (IndexError, struct.error) as error:
        raise Undecodable(f"it ends before its {entity.__name__} does") from error
    except UnicodeDecodeError as error:
        raise Undecodable(f"a text in it is not UTF-8: {error}") from error
    return message, end


@functools.cache
def _entity_reader(entity: Any) -> _Reader:
    steps = tuple(_steps(entity, [field for field in fields(entity) if "tag" not in field.metadata]))
    read_rest = _tags_step(entity) if entity.__flexible__ else _no_tags_step

    def read_entity(data: bytes, at: int) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        for step in steps:
            at = step(data, at, values)
        at = read_rest(data, at, values)
        return entity(**values), at

    return read_entity


def _steps(entity: Any, described: Iterable[Field[Any]]) -> Iterator[_Step]:
    hints = typing.get_type_hints(entity)
    for are_numbers, group in itertools.groupby(described, lambda field: is_number(field, hints[field.name])):
        if are_numbers:
            yield _numbers_step(list(group))
        else:
            for field in group:
                yield _step(field.name, _field_reader(field, hints[field.name], flexible=entity.__flexible__))


def _numbers_step(described: list[Field[Any]]) -> _Step:
    """Neighbouring numbers in one call: answers about topics have tens of thousands of such groups."""
    names = tuple(field.name for field in described)
    layout = struct.Struct(">" + "".join(NUMBERS[field.metadata["kafka_type"]] for field in described))

    def step(data: bytes, at: int, values: dict[str, Any]) -> int:
        values.update(zip(names, layout.unpack_from(data, at), strict=True))
        return at + layout.size

    return step


def _step(name: str, reader: _Reader) -> _Step:
    def step(data: bytes, at: int, values: dict[str, Any]) -> int:
        values[name], at = reader(data, at)
        return at

    return step


def _field_reader(field: Field[Any], hint: Any, *, flexible: bool) -> _Reader:
    hint, nullable = without_none(hint)
    kind = field.metadata.get("kafka_type")
    if is_array(hint):
        return _array_reader(item_of(hint), kind, nullable=nullable, flexible=flexible)
    if is_message(hint):
        return _nullable_entity_reader(hint) if nullable else _entity_reader(hint)
    return _value_reader(kind, nullable=nullable, flexible=flexible)


def _value_reader(kind: str | None, *, nullable: bool, flexible: bool) -> _Reader:
    match kind:
        case "string":
            return _text_reader(bytes.decode, _read_int16, nullable=nullable, flexible=flexible)
        case "bytes" | "records":
            return _text_reader(bytes, _read_int32, nullable=nullable, flexible=flexible)
        case "uuid":
            return _read_uuid
        case "timedelta_i32":
            return _read_milliseconds
    raise TypeError(f"none of the messages we read had a value of type {kind}")


def _number_reader(code: str) -> Callable[[bytes, int], tuple[int, int]]:
    layout = struct.Struct(">" + code)
    return lambda data, at: (layout.unpack_from(data, at)[0], at + layout.size)


_read_int8 = _number_reader("b")
_read_int16 = _number_reader("h")
_read_int32 = _number_reader("i")


def _read_bytes(data: bytes, at: int, count: int) -> bytes:
    taken = data[at : at + count]
    if count < 0 or len(taken) < count:
        raise Undecodable(f"{count} bytes expected at byte {at} of {len(data)}")
    return taken


def _read_uuid(data: bytes, at: int) -> tuple[uuid.UUID | None, int]:
    """The nil id stands for "none", as in kio."""
    return _topic_id(_read_bytes(data, at, 16)), at + 16


@functools.lru_cache(maxsize=_SHARED_IDS)
def _topic_id(octets: bytes) -> uuid.UUID | None:
    """Equal ids are one object: a look-up in a dictionary then compares them without `UUID.__eq__`, which is Python."""
    return None if octets == _NIL else uuid.UUID(bytes=octets)


def _read_milliseconds(data: bytes, at: int) -> tuple[dt.timedelta, int]:
    number, at = _read_int32(data, at)
    return dt.timedelta(milliseconds=number), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    if value < 0x80:
        return value, at + 1  # The usual case.
    value = 0
    for shift in range(0, _VARINT_BITS, 7):
        octet = data[at]
        at += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, at
    raise Undecodable("a variable-length number in it does not end")


def _read_compact_length(data: bytes, at: int) -> tuple[int, int]:
    number, at = _read_varint(data, at)
    return number - 1, at


def _text_reader(
    make: Callable[[bytes], Any], read_short_length: _Reader, *, nullable: bool, flexible: bool
) -> _Reader:
    """A string or bytes, which differ in their length before the flexible versions."""
    read_length = _read_compact_length if flexible else read_short_length

    def read_text(data: bytes, at: int) -> tuple[Any, int]:
        length, at = read_length(data, at)
        if length == -1 and nullable:
            return None, at
        return make(_read_bytes(data, at, length)), at + length

    return read_text


def _array_reader(item: Any, kind: str | None, *, nullable: bool, flexible: bool) -> _Reader:
    read_length = _read_compact_length if flexible else _read_int32
    read_items = _numbers_reader(NUMBERS[kind]) if kind in NUMBERS else _items_reader(item, kind, flexible=flexible)
    most = MAX_FRAME_BYTES if kind in NUMBERS else MOST_ITEMS

    def read_array(data: bytes, at: int) -> tuple[tuple[Any, ...] | None, int]:
        length, at = read_length(data, at)
        if length == -1 and nullable:
            return None, at
        # Every element takes at least one byte, so a greater count cannot be right.
        if not 0 <= length <= most or length > len(data) - at:
            raise Undecodable(f"it announces {length} elements in {len(data) - at} bytes")
        return read_items(data, at, length)

    return read_array


@functools.cache
def _numbers_reader(code: str) -> Callable[[bytes, int, int], tuple[tuple[Any, ...], int]]:
    size = struct.calcsize(">" + code)

    def unpack(octets: bytes) -> tuple[Any, ...]:
        return struct.unpack(f">{len(octets) // size}{code}", octets)

    # Most topics of an assignment have the same partitions as in the last one, and many the same as each other.
    unpack_known = functools.lru_cache(maxsize=SHARED_ARRAYS)(unpack)

    def read_numbers(data: bytes, at: int, length: int) -> tuple[tuple[Any, ...], int]:
        octets = _read_bytes(data, at, length * size)
        return (unpack_known if length <= SHARED_LENGTH else unpack)(octets), at + length * size

    return read_numbers


def _items_reader(
    item: Any, kind: str | None, *, flexible: bool
) -> Callable[[bytes, int, int], tuple[tuple[Any, ...], int]]:
    read_item = _entity_reader(item) if is_message(item) else _value_reader(kind, nullable=False, flexible=flexible)

    def read_items(data: bytes, at: int, length: int) -> tuple[tuple[Any, ...], int]:
        items = []
        for _ in range(length):
            item, at = read_item(data, at)
            items.append(item)
        return tuple(items), at

    return read_items


def _nullable_entity_reader(entity: Any) -> _Reader:
    read_entity = _entity_reader(entity)

    def read_nullable(data: bytes, at: int) -> tuple[Any, int]:
        # A byte tells (KIP-893): negative for null.
        marker, at = _read_int8(data, at)
        return (None, at) if marker < 0 else read_entity(data, at)

    return read_nullable


# --- tagged fields ---------------------------------------------------------------------------------------------------

_USED_TAGS = frozenset({"finalized_features"})
"""Tagged fields are optional by definition: the others that our answers may carry are of no use to us."""


def _tags_step(entity: Any) -> _Step:
    """Reads the tagged fields that are used into the dictionary, and skips the others."""
    hints = typing.get_type_hints(entity)
    readers = {
        field.metadata["tag"]: (field.name, _field_reader(field, hints[field.name], flexible=True))
        for field in fields(entity)
        if field.name in _USED_TAGS
    }

    def step(data: bytes, at: int, values: dict[str, Any]) -> int:
        count, at = _read_varint(data, at)
        if count > _MOST_TAGS:
            raise Undecodable(f"it announces {count} tagged fields")
        for _ in range(count):
            tag, at = _read_varint(data, at)
            size, at = _read_varint(data, at)
            content = _read_bytes(data, at, size)
            at += size
            if tag in readers:
                name, reader = readers[tag]
                values[name], _ = reader(content, 0)
        return at

    return step


def _no_tags_step(_data: bytes, at: int, _values: dict[str, Any]) -> int:
    return at
