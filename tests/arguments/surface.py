"""The public surface, found by looking: every function, constructor and method with parameters, and their names."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """One public callable. `owner` is the name of its class, if it is a method that needs an object."""

    path: str
    owner: str | None
    name: str
    found: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]

    def __str__(self) -> str:
        return self.path


def places(module: ModuleType) -> Iterator[Place]:
    """All of a module's `__all__`. Errors, enums and plain values are left out: they only hold what they are given."""
    for name in module.__all__:
        found = getattr(module, name)
        path = f"{module.__name__}.{name}"
        if inspect.isfunction(found):
            yield from _place(path, None, name, found)
        elif inspect.isclass(found) and not issubclass(found, BaseException | enum.Enum):
            yield from _of_class(path, name, found)


def _of_class(path: str, name: str, kind: type) -> Iterator[Place]:
    if not _holds_only(kind):
        yield from _place(path, None, name, kind)
    for method, value in inspect.getmembers_static(kind):
        if method.startswith("_") or issubclass(kind, tuple):
            continue
        if isinstance(value, classmethod | staticmethod):
            yield from _place(f"{path}.{method}", None, f"{name}.{method}", getattr(kind, method))
        elif inspect.isfunction(value):
            yield from _place(f"{path}.{method}", name, method, value)


def _holds_only(kind: type) -> bool:
    """A value without checks of its own is checked where it is given."""
    made_by_hand = "__init__" in vars(kind) and not dataclasses.is_dataclass(kind)
    return not made_by_hand and not hasattr(kind, "__post_init__")


def _place(path: str, owner: str | None, name: str, found: Callable[..., Any]) -> Iterator[Place]:
    parameters = tuple(
        parameter
        for parameter in inspect.signature(found).parameters.values()
        if parameter.name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    )
    if parameters:
        yield Place(path, owner, name, found, parameters)
