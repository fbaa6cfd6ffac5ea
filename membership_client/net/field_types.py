"""The type of a field of kio's messages: number, array or nested message, and whether it may be null."""

from __future__ import annotations

import types
import typing
from dataclasses import Field, is_dataclass
from typing import Any

NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "error_code": "h", "bool": "?"}
"""Those that `struct` reads and writes, with its letters."""
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
