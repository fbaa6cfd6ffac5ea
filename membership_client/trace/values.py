"""The core's values as JSON and back, by their type hints.

A value of a class that is one of several carries its name as `is`. Fields that have their default are left out, so a
line stays short enough for a person. Floats survive exactly, because a replay must see the very times of the run.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from membership_client.partition_text import numbers_of, ranges
from membership_client.partitions import Partitions
from membership_client.types import TopicPartition

Json = Any


def encode(value: Any) -> Json:
    """For json.dumps. TypeError for a value that has no form here, which is a bug."""
    kind: Any = type(value)
    return _encoder(kind)(value)


LONGEST_S = 1e10
"""Three hundred years: longer than any machine runs, and than `threading.TIMEOUT_MAX`."""

PARTITION_FIELDS = frozenset({"owned", "assignment", "partitions"})
"""Fields of type `Partitions`, whose text may stand for many more values than it has letters."""


def decode(hint: Any, data: Json) -> Any:
    """The value of that type; ValueError, KeyError or TypeError if the data is not one."""
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
    if issubclass(kind, int):  # An error code by name is still a number.
        return int
    if issubclass(kind, enum.Enum):
        return _encode_enum
    if _has_fields(kind):
        return functools.partial(_encode_fields, kind.__name__, _defaults(kind))
    if issubclass(kind, (tuple, frozenset, list)):
        return _encode_many
    if issubclass(kind, Mapping):
        return _encode_mapping
    raise TypeError(f"{kind.__name__} has no form in a trace")


_PLAIN = frozenset({str, int, bool, types.NoneType})


def _has_fields(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind)


def _same(value: Any) -> Json:
    return value


def _encode_float(value: float) -> Json:
    return value if abs(value) != float("inf") else str(value)


def _encode_enum(value: enum.Enum) -> Json:
    return value.name


def _encode_partitions(value: Partitions) -> Json:
    return {str(topic): ranges(numbers) for topic, numbers in value.by_topic.items()}


def _encode_fields(name: str, defaults: tuple[tuple[str, Any], ...], value: Any) -> Json:
    shown: dict[str, Json] = {"is": name}
    for field, default in defaults:
        part = getattr(value, field)
        if part is default:
            continue
        kind: Any = type(part)
        if kind not in _PLAIN:
            shown[field] = _encoder(kind)(part)
        elif part != default:
            shown[field] = part
    return shown


def _encode_many(value: Iterable[Any]) -> Json:
    parts = [encode(part) for part in value]
    return sorted(parts) if isinstance(value, frozenset) else parts


def _encode_mapping(value: Mapping[Any, Any]) -> Json:
    return {str(key): encode(part) for key, part in value.items()}


_REQUIRED = object()


def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, _default(field)) for field in dataclasses.fields(kind))


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _REQUIRED if field.default is dataclasses.MISSING else field.default


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
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
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
    if issubclass(kind, enum.Enum):
        return functools.partial(_decode_enum, kind)
    return functools.partial(_decode_fields, kind)


def _decoder_of_union(arguments: tuple[Any, ...]) -> Callable[[Json], Any]:
    options: list[Any] = [option for option in arguments if option is not types.NoneType]
    named: dict[str, Any] = {option.__name__: option for option in options if _has_fields(option)}

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


def _decode_enum(kind: Any, data: Json) -> Any:
    return kind[data]


def _decode_fields(kind: Any, data: Json) -> Any:
    decoders = _field_decoders(kind)
    return kind(**{name: decoders[name](value) for name, value in data.items() if name != "is"})


@functools.cache
def _field_decoders(kind: Any) -> dict[str, Callable[[Json], Any]]:
    hints = typing.get_type_hints(kind)
    return {name: _decode_due if default == _ALWAYS_DUE else _decoder(hints[name]) for name, default in _defaults(kind)}


_ALWAYS_DUE = float("-inf")


def _decode_due(data: Json) -> float:
    """A time that has always passed is the one infinite float of the core; only fields with that default have it."""
    return _ALWAYS_DUE if data == str(_ALWAYS_DUE) else _decode_float(data)


def _decode_partition(data: str) -> TopicPartition:
    topic, _, number = data.rpartition("-")
    if not (number.isascii() and number.isdecimal()):
        raise ValueError(f"{data!r} is no partition")
    return TopicPartition(topic, int(number))


def _decode_partitions(data: Mapping[str, str]) -> Partitions:
    return Partitions({UUID(topic): frozenset(numbers_of(text)) for topic, text in data.items()})
