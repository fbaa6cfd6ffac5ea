"""The package's public names."""

from __future__ import annotations

import enum
import inspect

import pytest

import membership_client
from membership_client import errors, types


def defined_in(module: object) -> set[str]:
    """The public classes of a module."""
    classes = inspect.getmembers(module, inspect.isclass)
    return {name for name, value in classes if value.__module__ == getattr(module, "__name__", "")}


def test_all_is_sorted_and_has_no_doubles() -> None:
    """So that it can be read and merged."""
    assert membership_client.__all__ == sorted(set(membership_client.__all__))


def test_all_is_all() -> None:
    """Every name of the package that is not a module is in it, and each of them exists; Consumer comes when called."""
    assert membership_client.Consumer.__name__ == "Consumer"
    public = {
        name
        for name, value in vars(membership_client).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(membership_client.__all__) == public | {"Consumer"}


def test_what_does_not_exist_is_an_attribute_error() -> None:
    """As in any other module."""
    with pytest.raises(AttributeError, match="Producer"):
        membership_client.Producer  # noqa: B018 - it is the looking that counts


def test_every_error_and_every_value_is_public() -> None:
    """Whatever a user can be given can be imported from the top."""
    given = {name for name in defined_in(errors) if name.endswith(("Error", "Problem"))} - {"Problem"}
    assert given | defined_in(types) <= set(membership_client.__all__)


def test_enums_are_not_mixed_with_strings() -> None:
    """A state is compared with a state: `snapshot.state == "stable"` would be wrong silently elsewhere."""
    enums = [value for value in vars(types).values() if isinstance(value, enum.EnumMeta) and value is not enum.Enum]
    assert enums
    assert not any(issubclass(value, str) for value in enums)
