"""Feeds bad values to public callables, one parameter at a time, and tells what is wrong with how they are met.

A bad value must be refused by one of our errors within a second, or be as good as a good one. Wrong are: another exception
(`raw`), a call that does not come back (`hangs`), one that comes back as if nothing were wrong (`silence`), and a refusal
that takes too long (`slow`).
"""

from __future__ import annotations

import inspect
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from membership_client import MembershipError
from tests.arguments.kinds import Kind
from tests.arguments.surface import Place

PROMISED_S = 1.0
"""A refusal takes no more of a processor, ever, and no longer by the clock in one of three attempts.

The slowest of 8,700 refusals took 3 ms of a processor and 0.3 s by the clock, beside ten busy processes on two cores; those
of commands 55 ms. So one that takes a second three times in a row waits for something.
"""
_ATTEMPTS = 3
GUARD_S = 60.0
"""A call that takes longer hangs."""

_TYPED = (MembershipError, KafkaException)

Call = Callable[..., Any]


class Hung(Exception):  # noqa: N818 - it is no error of the product
    """The call did not come back."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned or raised, and what it took."""

    value: object
    clock_s: float = 0.0
    processor_s: float = 0.0
    """Of the thread that made the call."""

    @property
    def is_slow(self) -> bool:
        return max(self.clock_s, self.processor_s) > PROMISED_S


Attempt = Callable[[Call], Outcome]
"""How a call is made."""


class Stopwatch:
    """Started when it is made; belongs to one thread."""

    def __init__(self) -> None:
        self._clock, self._processor = time.monotonic(), time.thread_time()

    def outcome(self, value: object) -> Outcome:
        return Outcome(value, time.monotonic() - self._clock, time.thread_time() - self._processor)


def here(call: Call) -> Outcome:
    """On this thread, however long it takes."""
    watch = Stopwatch()
    try:
        return watch.outcome(call())
    except BaseException as error:  # noqa: BLE001 - it is looked at
        return watch.outcome(error)


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


def in_thread(call: Call) -> Outcome:
    """On a thread of its own; Hung if it does not come back."""
    outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    threading.Thread(target=lambda: outcomes.put(here(call)), daemon=True).start()
    try:
        return outcomes.get(timeout=GUARD_S)
    except queue.Empty:
        return Outcome(Hung())


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
    usual = _outcome(place, call, attempt, good).value
    assert _is_fine(usual), f"{place.path} refuses the good values: {usual!r}"
    for name, kind in kinds.items():
        for value_name, value, may_be_taken in kind.values():
            if value_name in leave_out:
                continue
            given = {**good, name: value}
            outcome = _quickest(place, call, attempt, given, usual)
            what = _what_is_wrong(outcome, usual, may_be_taken=may_be_taken)
            if what and not (model and _is_alike(outcome.value, _outcome(place, model, in_thread, given).value)):
                yield Complaint(place.path, name, value_name, what)


def _quickest(place: Place, call: Call, attempt: Attempt, given: Mapping[str, Any], usual: object) -> Outcome:
    """A refusal that is slow is tried again: a busy machine may hold up any single call."""
    outcome, left = _outcome(place, call, attempt, given), _ATTEMPTS - 1
    while left and outcome.is_slow and _is_refusal(outcome.value, usual):
        outcome, left = _outcome(place, call, attempt, given), left - 1
    return outcome


def _is_refusal(value: object, usual: object) -> bool:
    """Of the value that was fed, and not what happens without a cluster whatever is fed."""
    return isinstance(value, BaseException) and type(value) is not type(usual)


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


def _what_is_wrong(outcome: Outcome, usual: object, *, may_be_taken: bool) -> str | None:
    value = outcome.value
    if isinstance(value, Hung):
        return "hangs"
    if isinstance(value, BaseException) and not isinstance(value, _TYPED):
        return f"raw {type(value).__name__}: {str(value)[:100]}"
    if outcome.processor_s > PROMISED_S or (outcome.is_slow and _is_refusal(value, usual)):
        return f"slow: {outcome.clock_s:.1f} s, {outcome.processor_s:.1f} s of them of a processor"
    as_usual = not isinstance(value, BaseException) or type(value) is type(usual)
    return "silence" if as_usual and not may_be_taken else None


def _outcome(place: Place, call: Call, attempt: Attempt, given: Mapping[str, Any]) -> Outcome:
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    positional = [given[parameter.name] for parameter in place.parameters if parameter.kind not in by_name]
    named = {parameter.name: given[parameter.name] for parameter in place.parameters if parameter.kind in by_name}
    return attempt(lambda: call(*positional, **named))
