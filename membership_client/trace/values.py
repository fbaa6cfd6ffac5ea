"""Encodes the core's values as JSON and decodes them, by the tables of the trace format.

The names of classes, fields and enum values are those of `format`; how a field is read follows from its type hint. Fields
that have their default are left out, so that a line stays short enough for a person. Floats survive exactly, because a
replay must see the same times as the run.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from membership_client.partitions import Partitions, numbers_of, ranges
from membership_client.types import TopicPartition

if TYPE_CHECKING:
    from membership_client.trace.format import Enumeration, RecordFormat

Json = Any


def encode(value: Any) -> Json:
    """The value as `json.dumps` takes it. TypeError if the format lacks its class, which is a bug."""
    kind: Any = type(value)
    return _encoder(kind)(value)


LONGEST_S = 1e10
"""Three hundred years: longer than any machine runs, and than `threading.TIMEOUT_MAX`."""


def decode(hint: Any, data: Json) -> Any:
    """A value of the type `hint`. ValueError, KeyError or TypeError if the data is no such value."""
    return _decoder(hint)(data)


# --- to JSON ---------------------------------------------------------------------------------------------------------


@functools.cache
def _encoder(kind: Any) -> Callable[[Any], Json]:  # noqa: PLR0911 - one per kind
    if kind in _PLAIN:
        return _same
    if kind is float:
        return _encode_float
    if kind is TopicPartition or kind is UUID:
        return str
    if kind is Partitions:
        return _encode_partitions
    if issubclass(kind, int):  # Error codes are written as numbers.
        return int
    records, enums = _tables()
    if kind in enums:
        return functools.partial(_encode_enum, {member.name: word for word, member in enums[kind].members().items()})
    if kind in records:
        return functools.partial(_encode_record, records[kind].tag, _fields(kind))
    if issubclass(kind, (tuple, frozenset, list)):
        return _encode_many
    if issubclass(kind, Mapping):
        return _encode_mapping
    raise _without_entry(kind)


_PLAIN = frozenset({str, int, bool, types.NoneType})


def _without_entry(kind: Any) -> TypeError:
    return TypeError(f"{kind.__name__} has no entry in the trace format")


def _same(value: Any) -> Json:
    return value


def _encode_float(value: float) -> Json:
    return value if abs(value) != float("inf") else str(value)


def _encode_enum(words: Mapping[str, str], value: enum.Enum) -> Json:
    return words[value._name_]  # `name` is a property in Python, which takes ten times as long.


def _encode_partitions(value: Partitions) -> Json:
    return {str(topic): ranges(numbers) for topic, numbers in value.by_topic.items()}


def _encode_record(tag: str, fields: tuple[tuple[str, str, Any], ...], value: Any) -> Json:
    shown: dict[str, Json] = {"is": tag}
    for name, attribute, default in fields:
        part = getattr(value, attribute)
        if part is default:
            continue
        kind: Any = type(part)
        if kind not in _PLAIN:
            shown[name] = _encoder(kind)(part)
        elif part != default:
            shown[name] = part
    return shown


def _encode_many(value: Iterable[Any]) -> Json:
    parts = [encode(part) for part in value]
    return sorted(parts) if isinstance(value, frozenset) else parts


def _encode_mapping(value: Mapping[Any, Any]) -> Json:
    return {str(key): encode(part) for key, part in value.items()}


# --- the tables of the format, for a class ---------------------------------------------------------------------------

_WRITTEN = object()


def _tables() -> tuple[Mapping[Any, RecordFormat], Mapping[Any, Enumeration]]:
    """The tables. They are loaded with the first value, because that takes a millisecond, and many programs need no value."""
    from membership_client.trace.format import ENUMS, RECORDS  # noqa: PLC0415 - loaded at its first use

    return RECORDS, ENUMS


def _record(kind: Any) -> RecordFormat:
    records, _ = _tables()
    return records[kind]


@functools.cache
def _fields(kind: Any) -> tuple[tuple[str, str, Any], ...]:
    """For each field: its name in a trace, its name in the code, and the value that is not written."""
    record, defaults = _record(kind), _defaults(kind)
    named = [(name, record.attribute(name)) for name in record.fields]
    return tuple((name, own, _left_out(defaults[own], record.default(name))) for name, own in named)


def _left_out(default: Any, missing: Json) -> Any:
    """The value that is not written: the code's default, or the format's where they differ; `_WRITTEN` if there is none."""
    if _is_same(default, missing):
        return default
    return missing if type(missing) in _PLAIN else _WRITTEN


def _is_same(default: Any, missing: Json) -> bool:
    return missing is not ... and default is not _WRITTEN and encode(default) == missing


@functools.cache
def _defaults(kind: Any) -> dict[str, Any]:
    """The defaults of the fields in the code, by name; `_WRITTEN` for fields without a default."""
    return {field.name: _default(field) for field in dataclasses.fields(kind)}


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _WRITTEN if field.default is dataclasses.MISSING else field.default


# --- from JSON -------------------------------------------------------------------------------------------------------


@functools.cache
def _decoder(hint: Any) -> Callable[[Json], Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return _decoder_of_union(arguments)
    if origin is typing.Literal:
        return _same
    if origin in {tuple, frozenset}:
        return functools.partial(_decode_many, origin, _decoder(arguments[0]))
    if origin is Mapping:
        return functools.partial(_decode_mapping, *map(_decoder, arguments))
    return _decoder_of_class(hint)


def _decoder_of_class(kind: Any) -> Callable[[Json], Any]:
    simple: dict[Any, Callable[[Json], Any]] = {
        str: functools.partial(_decode_plain, str),
        int: functools.partial(_decode_plain, int),
        bool: functools.partial(_decode_plain, bool),
        types.NoneType: _same,
        float: _decode_float,
        UUID: UUID,
        TopicPartition: _decode_partition,
        Partitions: _decode_partitions,
    }
    if kind in simple:
        return simple[kind]
    records, enums = _tables()
    if kind in enums:
        return enums[kind].members().__getitem__
    if kind not in records:
        raise _without_entry(kind)
    return functools.partial(_decode_record, kind)


def _decoder_of_union(arguments: tuple[Any, ...]) -> Callable[[Json], Any]:
    options: list[Any] = [option for option in arguments if option is not types.NoneType]
    records, _ = _tables()
    named: dict[str, Any] = {records[option].tag: option for option in options if option in records}

    def decode_one(data: Json) -> Any:
        if data is None and types.NoneType in arguments:
            return None
        if isinstance(data, dict) and "is" in data:
            return _decoder(named[data["is"]])(data)
        (option,) = [option for option in options if option not in named.values()] or options
        return _decoder(option)(data)

    return decode_one


def _decode_plain(kind: type[Any], data: Json) -> Any:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise TypeError(f"{data!r} where {kind.__name__} is expected")
    return data


def _decode_float(data: Json) -> float:
    """Every float of the core is a time or a duration in seconds."""
    if not isinstance(data, float | int) or isinstance(data, bool) or not -LONGEST_S < data < LONGEST_S:
        raise ValueError(f"{data!r} is no number of seconds")
    return float(data)


def _decode_many(kind: Any, part: Callable[[Json], Any], data: Json) -> Any:
    if not isinstance(data, list):
        raise TypeError(f"{data!r} where a list is expected")
    return kind(map(part, data))


def _decode_mapping(key: Callable[[Json], Any], part: Callable[[Json], Any], data: Json) -> Any:
    return {key(name): part(value) for name, value in data.items()}


def _decode_record(kind: Any, data: Json) -> Any:
    decoders, given = _field_decoders(kind), dict(_filled(kind))
    for name, value in data.items():
        if name != "is":
            attribute, decoder = decoders[name]
            given[attribute] = decoder(value)
    return kind(**given)


@functools.cache
def _field_decoders(kind: Any) -> dict[str, tuple[str, Callable[[Json], Any]]]:
    """The name in the code and the decoder of each field, by its name in a trace."""
    record, hints = _record(kind), typing.get_type_hints(kind)
    return {
        name: (own, _decode_due if record.default(name) == str(_ALWAYS_DUE) else _decoder(hints[own]))
        for name, own, _ in _fields(kind)
    }


@functools.cache
def _filled(kind: Any) -> dict[str, Any]:
    """Values of fields that a trace lacks and for which the code has no default, or another one than the format."""
    record, defaults, found = _record(kind), _defaults(kind), {}
    for name, (own, decoder) in _field_decoders(kind).items():
        missing = record.default(name)
        if missing is not ... and not _is_same(defaults[own], missing):
            found[own] = decoder(missing)
    return found


_ALWAYS_DUE = float("-inf")


def _decode_due(data: Json) -> float:
    """A time, or minus infinity: a time that has always passed. Only fields with that default may be infinite."""
    return _ALWAYS_DUE if data == str(_ALWAYS_DUE) else _decode_float(data)


def _decode_partition(data: str) -> TopicPartition:
    topic, _, number = data.rpartition("-")
    if not (number.isascii() and number.isdecimal()):
        raise ValueError(f"{data!r} is no partition")
    return TopicPartition(topic, int(number))


def _decode_partitions(data: Mapping[str, str]) -> Partitions:
    return Partitions({UUID(topic): frozenset(numbers_of(text)) for topic, text in data.items()})
