"""Are the values of the core what their types say? mypy proves it of our code; this sees what really goes in and out."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def assert_typed(value: Any, before: object = None) -> None:
    """Of a dataclass; fields that are the same as in `before` were looked at before."""
    hints = _hints(type(value))
    for field in fields(value):
        held = getattr(value, field.name)
        if before is None or held is not getattr(before, field.name, field):
            assert _fits(held, hints[field.name]), f"{type(value).__name__}.{field.name} is {held!r}"


_HINTS: dict[type, Mapping[str, Any]] = {}


def _hints(of: type) -> Mapping[str, Any]:
    if of not in _HINTS:
        _HINTS[of] = get_type_hints(of)
    return _HINTS[of]


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple and arguments[-1:] == (Ellipsis,):
        return isinstance(value, tuple) and all(_fits(one, arguments[0]) for one in value)
    if origin is frozenset:
        return isinstance(value, frozenset) and all(_fits(one, arguments[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(k, arguments[0]) and _fits(v, arguments[1]) for k, v in value.items()
        )
    return _is_one(value, origin or hint)


def _is_one(value: Any, kind: Any) -> bool:
    if kind is Any or kind is Callable:
        return True
    if kind is None:
        return value is None
    if isinstance(value, bool) and kind in {int, float}:
        return False
    if not isinstance(value, int | float if kind is float else kind):
        return False
    if is_dataclass(value):
        assert_typed(value)
    return True
