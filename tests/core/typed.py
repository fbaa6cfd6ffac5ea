"""Checks that values of the core have their declared types. mypy proves it for our code; this checks the values of the tests."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]
"""Whether a value has one type. Made once per type: every step of every test of the core checks some hundred values."""


def assert_typed(value: Any, before: object = None) -> None:
    """Check a dataclass; fields that are the same as in `before` were checked before."""
    kind: Any = type(value)
    for name, fits in _fields(kind):
        held = getattr(value, name)
        if before is None or held is not getattr(before, name, _fields):
            assert fits(held), f"{kind.__name__}.{name} is {held!r}"


@functools.cache
def _fields(of: Any) -> tuple[tuple[str, Check], ...]:
    hints = get_type_hints(of)
    return tuple((field.name, _check(hints[field.name])) for field in fields(of))


@functools.cache
def _check(hint: Any) -> Check:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return _any_of([_check(one) for one in arguments])
    if origin is Literal:
        return lambda value: value in arguments
    if origin is tuple and arguments[-1:] == (Ellipsis,):
        return _all_in(tuple, _check(arguments[0]))
    if origin is frozenset:
        return _all_in(frozenset, _check(arguments[0]))
    if origin is Mapping:
        return _mapping(_check(arguments[0]), _check(arguments[1]))
    return _one(origin or hint)


def _any_of(checks: list[Check]) -> Check:
    return lambda value: any(fits(value) for fits in checks)


def _all_in(kind: type[tuple[Any, ...] | frozenset[Any]], fits: Check) -> Check:
    return lambda value: isinstance(value, kind) and all(map(fits, value))


def _mapping(key_fits: Check, value_fits: Check) -> Check:
    return lambda value: (
        isinstance(value, Mapping) and all(key_fits(key) and value_fits(held) for key, held in value.items())
    )


def _one(kind: Any) -> Check:
    if kind is Any or kind is Callable:
        return lambda _: True
    if kind in {None, types.NoneType}:
        return lambda value: value is None
    if kind in {int, float}:
        numbers = int | float if kind is float else int
        return lambda value: isinstance(value, numbers) and not isinstance(value, bool)

    def fits(value: Any) -> bool:
        if not isinstance(value, kind):
            return False
        if is_dataclass(value):
            assert_typed(value)
        return True

    return fits
