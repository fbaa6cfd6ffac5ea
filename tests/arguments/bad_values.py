"""The values that every public parameter is given, by names under which kinds of parameters say which they take."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Never


class Nameless:
    """Cannot even be shown: an error text that shows it by its repr would raise another error."""

    def __repr__(self) -> str:
        raise RuntimeError("this object cannot be shown")


class Incomparable:
    """As an array of numpy: what `==` gives has no truth."""

    def __eq__(self, other: object) -> Incomparable:  # type: ignore[override]
        return self

    def __bool__(self) -> Never:
        raise ValueError("the truth value of an array is ambiguous")

    __hash__ = None  # type: ignore[assignment]


class Word(str, enum.Enum):  # noqa: UP042 - str() of a StrEnum's member is its value
    """As applications name their topics and groups: str() of a member is "Word.X"."""

    X = "x"


class Number(enum.IntEnum):
    ONE = 1


class Plain(enum.Enum):
    X = "x"


def function_of_one(_value: object) -> None:
    """Can be called, with one argument."""


BAD: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "1": 1,
    "-1": -1,
    "2**31": 2**31,
    "2**63": 2**63,
    "10**400": 10**400,
    "10**5000": 10**5000,  # Too many digits for str(), and so for an error text.
    "0.0": 0.0,
    "1.5": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1e300": 1e300,
    "empty": "",
    "space": " ",
    "word": "x",
    "digits": "5",
    "many digits": "5" * 5000,
    "nul": "a\0b",
    "surrogate": "a\ud800",
    "newline": "a\nb",
    "long": "x" * 40_000,
    "bytes": b"x",
    "list": [],
    "tuple": (),
    "set": frozenset[str](),
    "dict": {},
    "[None]": [None],
    "[5]": [5],
    "['']": [""],
    "[surrogate]": ["\ud800"],
    "[['x']]": [["x"]],
    "{1: 2}": {1: 2},
    "{'x': 1}": {"x": 1},
    "object": object(),
    "nameless": Nameless(),
    "class": int,
    "function": function_of_one,
    "error": ValueError("x"),
    "decimal": Decimal("1.5"),
    "fraction": Fraction(3, 2),
    "complex": 1j,
    "bytearray": bytearray(b"x"),
    "path": Path("x"),
    "iterator": map(str, ()),
    "duration": dt.timedelta(seconds=1),
    "time": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "incomparable": Incomparable(),
    "member": Plain.X,
    "member of a str": Word.X,
    "member of an int": Number.ONE,
}
ALIKE = {"member of a str": "word", "member of an int": "1", "iterator": "list"}
"""Whoever takes the latter takes the former, which is as good."""

NUMBERS = frozenset({"0", "1", "-1", "2**31", "2**63", "10**400", "10**5000", "0.0", "1.5", "inf", "-inf", "1e300"})
FOREVER = frozenset({"2**31", "2**63", "10**400", "10**5000", "inf", "1e300"})
"""As a timeout, nothing but the event itself ends the wait."""
WAITS = FOREVER | {"1", "1.5"}
"""As a timeout, these make a test wait for nothing."""
TEXTS = frozenset({"word", "digits", "many digits", "newline"})
"""Which Kafka's format can hold: neither blank, nor with half a character, nor longer than 32 KiB."""
CALLABLE = frozenset({"function", "class"})
EMPTY = frozenset({"list", "tuple", "set", "dict"})
