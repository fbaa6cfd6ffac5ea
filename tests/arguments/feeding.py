"""Feeds bad values to public callables, one parameter at a time, and tells what is wrong with how they are met.

A bad value must be refused by one of our errors, or be as good as a good one. Wrong are: another exception (`raw`), a call
that does not come back (`hangs`), and one that comes back as if nothing were wrong (`silence`).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from membership_client import MembershipError
from tests.arguments.kinds import Kind
from tests.arguments.surface import Place

BOUND_S = 15.0
"""A call that takes longer hangs. Promised is a second; the rest is for a busy machine."""

_TYPED = (MembershipError, KafkaException)

Call = Callable[..., Any]
Attempt = Callable[[Call], Any]


class Hung(Exception):  # noqa: N818 - it is no error of the product
    """The call did not come back."""


@dataclass(frozen=True, slots=True)
class Complaint:
    place: str
    parameter: str
    value: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}({self.parameter}=<{self.value}>): {self.what}"


@dataclass(frozen=True, slots=True)
class Table:
    """What is known of the parameters: by the path of a callable and a name, or by a name alone."""

    by_name: Mapping[str, Kind]
    by_place: Mapping[str, Mapping[str, Kind]]

    def kinds(self, place: Place) -> dict[str, Kind]:
        return {parameter.name: self._kind(place, parameter.name) for parameter in place.parameters}

    def _kind(self, place: Place, parameter: str) -> Kind:
        found = self.by_place.get(place.path, {}).get(parameter) or self.by_name.get(parameter)
        assert found is not None, f"no good value known for {place.path}.{parameter}: add it to the table"
        return found


def in_thread(call: Call) -> Any:
    """Its outcome, or Hung."""
    outcomes: list[Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            outcomes.append(call())
        except BaseException as error:  # noqa: BLE001 - it is looked at
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(BOUND_S)
    if thread.is_alive():
        raise Hung
    if failures:
        raise failures[0]
    return outcomes[0]


def feed(
    place: Place,
    call: Call,
    table: Table,
    *,
    attempt: Attempt = in_thread,
    leave_out: frozenset[str] = frozenset(),
    model: Call | None = None,
) -> Iterator[Complaint]:
    """Every bad value for every parameter of one callable.

    `leave_out` are values not to be fed. What `model`, the same method of another library, does with a value is right, too.
    """
    kinds = table.kinds(place)
    good = {name: kind.good for name, kind in kinds.items()}
    usual = _outcome(place, call, attempt, good)
    assert _is_fine(usual), f"{place.path} refuses the good values: {usual!r}"
    for name, kind in kinds.items():
        for value_name, value, may_be_taken in kind.values():
            if value_name in leave_out:
                continue
            given = {**good, name: value}
            outcome = _outcome(place, call, attempt, given)
            what = _what_is_wrong(outcome, usual, may_be_taken=may_be_taken)
            if what and not (model and _is_alike(outcome, _outcome(place, model, in_thread, given))):
                yield Complaint(place.path, name, value_name, what)


def _is_alike(outcome: object, theirs: object) -> bool:
    """Both raise the same, or neither raises anything."""
    if isinstance(outcome, BaseException) or isinstance(theirs, BaseException):
        return type(outcome) is type(theirs) and not isinstance(outcome, Hung)
    return True


def _is_fine(usual: object) -> bool:
    """Success, or what is wrong at the moment with the cluster and not with an argument."""
    return not isinstance(usual, BaseException) or (
        isinstance(usual, _TYPED) and not isinstance(usual, ValueError | TypeError)
    )


def _what_is_wrong(outcome: object, usual: object, *, may_be_taken: bool) -> str | None:
    if isinstance(outcome, Hung):
        return "hangs"
    if isinstance(outcome, BaseException) and not isinstance(outcome, _TYPED):
        return f"raw {type(outcome).__name__}: {str(outcome)[:100]}"
    as_usual = not isinstance(outcome, BaseException) or type(outcome) is type(usual)
    return "silence" if as_usual and not may_be_taken else None


def _outcome(place: Place, call: Call, attempt: Attempt, given: Mapping[str, Any]) -> object:
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    positional = [given[parameter.name] for parameter in place.parameters if parameter.kind not in by_name]
    named = {parameter.name: given[parameter.name] for parameter in place.parameters if parameter.kind in by_name}
    try:
        return attempt(lambda: call(*positional, **named))
    except BaseException as error:  # noqa: BLE001 - it is looked at
        return error
