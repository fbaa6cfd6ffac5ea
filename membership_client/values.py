"""Frozen dataclasses that are quick to define, and changed copies of them.

`dataclasses.dataclass` writes and compiles six methods for each class. That takes half a millisecond, which for the hundred
classes of a `Consumer` was most of the time of its import. Here classes share the methods that differ in the names of the
fields only, and `dataclasses` compiles `__init__` when the first object is made. All else is as in `dataclasses`.

`dataclasses.replace` builds a copy field by field, in Python. A member has some forty fields and is copied about ten
times per heartbeat, which was half of what a heartbeat cost; `replace` copies its dictionary in C.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    # The same contracts, and checkers know them: names and types of the changes are verified.
    from dataclasses import dataclass, replace
else:

    def dataclass(*, frozen: bool, slots: bool = False, kw_only: bool = False, eq: bool = True) -> Callable[[Any], Any]:
        """Like `dataclasses.dataclass`, for frozen classes only."""
        assert frozen, "others are for dataclasses.dataclass"

        def make(cls: Any) -> Any:
            if any(map(dataclasses.is_dataclass, cls.__mro__)):
                return dataclasses.dataclass(frozen=True, slots=slots, kw_only=kw_only, eq=eq)(cls)
            # A class without a docstring would get its signature for one, which takes longer than all the rest.
            cls.__doc__ = cls.__doc__ or f"{cls.__name__}."
            made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            made.__dataclass_params__.frozen = True  # Needed by classes that inherit from it.
            for name, method in (_methods(made) | (_comparison(made) if eq else {})).items():
                # As in `dataclasses`, what the class defines itself stays; an `__eq__` alone has made the hash None.
                if made.__dict__.get(name) is None:
                    setattr(made, name, method)
            return made

        return make

    def replace(value: Any, /, **changes: Any) -> Any:
        """Like `dataclasses.replace`; for values without slots and without `__post_init__` ten times as fast."""
        fields = getattr(value, "__dict__", None)
        if fields is None:
            return dataclasses.replace(value, **changes)
        copy = object.__new__(type(value))
        object.__setattr__(copy, "__dict__", fields | changes)
        return copy


def _methods(cls: Any) -> dict[str, Any]:
    fields = dataclasses.fields(cls)
    state = _getter([field.name for field in fields])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes that method
        cls.__init__ = _compiled_init(cls)
        cls.__init__(self, *args, **kwargs)

    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields if field.repr)
        return f"{type(self).__qualname__}({shown})"

    def __getstate__(self: Any) -> tuple[Any, ...]:  # noqa: N807
        return state(self)

    def __setstate__(self: Any, values: tuple[Any, ...]) -> None:  # noqa: N807
        for field, value in zip(fields, values, strict=True):
            object.__setattr__(self, field.name, value)

    return {
        "__signature__": _Signature(),
        "__init__": __init__,
        "__repr__": __repr__,
        "__setattr__": _refuse_assignment,
        "__delattr__": _refuse_deletion,
        "__getstate__": __getstate__,
        "__setstate__": __setstate__,
    }


class _Signature:
    """The signature of a class whose `__init__` is not compiled yet, for `inspect.signature` and `help`."""

    def __get__(self, _instance: object, cls: Any) -> Any:
        from inspect import signature  # noqa: PLC0415 - loaded only when a signature is asked for

        whole = signature(_compiled_init(cls))
        return whole.replace(parameters=list(whole.parameters.values())[1:])


def _comparison(cls: Any) -> dict[str, Callable[..., Any]]:
    compared = _getter([field.name for field in dataclasses.fields(cls) if field.compare])

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(compared(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns these attributes of a value as a tuple, also if there is one or none."""
    if not names:
        return lambda _value: ()
    get: Callable[[Any], Any] = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


def _compiled_init(cls: Any) -> Callable[..., None]:
    """The `__init__` of a dataclass with the same fields. It sets the attributes of any object that it is given."""
    fields = dataclasses.fields(cls)
    content: dict[str, Any] = {field.name: field for field in fields}
    content["__annotations__"] = {field.name: field.type for field in fields}
    if hasattr(cls, "__post_init__"):
        content["__post_init__"] = cls.__post_init__
    alike: Any = type(cls.__name__, (), content)
    alike.__qualname__, alike.__module__, alike.__doc__ = (
        cls.__qualname__,
        cls.__module__,
        "Only its `__init__` is used.",
    )
    init: Callable[..., None] = dataclasses.dataclass(frozen=True, repr=False, eq=False)(alike).__init__
    return init


def _refuse_assignment(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
