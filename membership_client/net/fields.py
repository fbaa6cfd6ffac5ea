"""Messages over their versions: fields came with them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def fill(entity: Any, **values: Any) -> Any:
    """One of kio's messages with those of the values that its version has a place for."""
    known = {field.name for field in fields(entity)}
    return entity(**{name: value for name, value in values.items() if name in known})
