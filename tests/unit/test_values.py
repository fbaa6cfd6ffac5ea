"""Frozen dataclasses of our own: as those of the standard library in all that programs see."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import pytest

from membership_client import values
from membership_client.core.events import Heartbeat
from membership_client.core.member import Member

_FORMS = [{"frozen": True}, {"frozen": True, "slots": True}, {"frozen": True, "slots": True, "kw_only": True}]


def _define(make: Any, form: dict[str, bool]) -> Any:
    """The same class, made by either of the two."""

    @make(**form)
    class Thing:
        """A thing."""

        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("negative")

    return Thing


PAIRS = [
    pytest.param(_define(values.dataclass, form), _define(dataclasses.dataclass, form), id=" ".join(form))
    for form in _FORMS
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_objects_look_and_compare_as_usual(ours: Any, theirs: Any) -> None:
    """Defaults, factories, text, equality and fields; what is not compared does not count."""
    one, same, other = (ours(name="a", parts=[1]), ours(name="a", parts=[1], note="x"), ours(name="b"))
    assert repr(one) == repr(theirs(name="a", parts=[1]))
    assert one == same
    assert one != other
    assert one != theirs(name="a", parts=[1])
    assert [f.name for f in dataclasses.fields(one)] == ["name", "size", "parts", "note"]
    assert ours(name="a").parts is not ours(name="a").parts
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(one, "__dict__") == hasattr(theirs(name="a"), "__dict__")


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_they_are_frozen(ours: Any, theirs: Any) -> None:
    """Neither changed nor deleted, with the standard error."""
    for thing in (ours(name="a"), theirs(name="a")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'size'"):
            thing.size = 4
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'size'"):
            del thing.size
        assert thing.size == 3


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_arguments_are_checked_as_usual(ours: Any, theirs: Any) -> None:
    """The first object is made as all others; then the signature is there as well."""
    for wrong in ({}, {"name": "a", "colour": 1}):
        told = []
        for kind in (ours, theirs):
            with pytest.raises(TypeError) as caught:
                kind(**wrong)
            told.append(str(caught.value))
        assert told[0] == told[1]
    with pytest.raises(ValueError, match="negative"):
        ours(name="a", size=-1)
    assert inspect.signature(ours) == inspect.signature(theirs)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_changed_copies_run_the_checks_again(ours: Any, theirs: Any) -> None:
    """`dataclasses.replace` works on them."""
    assert dataclasses.replace(ours(name="a"), size=5) == ours(name="a", size=5)
    with pytest.raises(ValueError, match="negative"):
        dataclasses.replace(ours(name="a"), size=-1)
    assert dataclasses.is_dataclass(ours)


def test_hashes_are_those_of_the_compared_fields() -> None:
    """Equal values are one key."""
    beats = [Heartbeat(group_id="g", member_id="m", epoch=1) for _ in range(2)]
    assert len({*beats, dataclasses.replace(beats[0], epoch=2)}) == 2


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_values_can_be_copied_and_carried(carry: Any) -> None:
    """With slots and without."""
    beat = Heartbeat(group_id="g", member_id="m", epoch=1, topics=("a",))
    assert carry(beat) == beat
    assert Member.__dataclass_fields__.keys() >= {"config", "owned"}


def test_what_a_class_defines_itself_stays() -> None:
    """Its own text and comparison; one that says that it has no comparison is compared by identity."""

    @values.dataclass(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - it gets one
        number: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and other.number % 10 == self.number % 10

    @values.dataclass(frozen=True, slots=True, eq=False)
    class Unlike:
        number: int

    assert repr(Own(1)) == "own"
    assert Own(1) == Own(11)
    assert hash(Own(1)) == hash(Own(1))
    assert Unlike(1) != Unlike(1)
    assert len({Unlike(1), Unlike(1)}) == 2


def test_a_class_without_fields() -> None:
    """All its objects are equal."""

    @values.dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert repr(Nothing()).endswith("Nothing()")


def test_classes_that_inherit() -> None:
    """Made by either of the two, they are frozen, compare by all their fields, and can be carried."""

    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Base:
        number: int

    makers: list[Any] = [values.dataclass, dataclasses.dataclass]
    for make in makers:

        class More(Base):
            name: str = ""

        made = make(frozen=True, slots=True, kw_only=True)(More)
        thing = made(number=1, name="a")
        assert thing != made(number=2, name="a")
        assert copy.copy(thing) == thing
        assert thing != Base(number=1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            thing.number = 2
