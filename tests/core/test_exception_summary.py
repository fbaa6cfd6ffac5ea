"""Exceptions told without their messages, however those look."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from membership_client.core.exception_summary import raised_by
from membership_client.runtime.listener import as_text

MESSAGES = [
    "Alice owes 5",
    "1 validation error for Order\nAlice\n  Input should be a number [input_value='Alice']",
    "Alice: 5\nBob: 7",
    'two lines\n  File "Alice.csv", line 3, in Alice',
    'a\n\nTraceback (most recent call last):\n  File "Alice.py", line 3, in Alice\nAlice: 5',
    "a\nDuring handling of the above exception, another exception occurred:\nAlice\nAlice: 5",
    "\nAlice",
    "",
]


def told(action: Callable[[], object]) -> str:
    """With the line numbers of this file left out."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return re.sub(r":\d+\)", ")", str(raised_by(as_text(error))))
    pytest.fail("nothing was raised")


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("message", MESSAGES)
def test_the_type_and_the_places_are_told_and_the_message_is_not(message: str) -> None:
    """Innermost place first."""
    said = told(lambda: fail(ValueError(message)))
    assert (
        said
        == "ValueError at fail (test_exception_summary.py) < <lambda> (test_exception_summary.py) < told (test_exception_summary.py)"
    )


@pytest.mark.parametrize("message", MESSAGES)
def test_of_a_chain_the_last_is_told(message: str) -> None:
    """It is what the callback raised; what led to it is its own affair."""

    def chain() -> None:
        try:
            fail(ValueError(message))
        except ValueError as cause:
            raise KeyError(message) from cause

    assert told(chain) == "KeyError at chain (test_exception_summary.py) < told (test_exception_summary.py)"


def test_of_a_group_only_the_group_is_told() -> None:
    """Its members have messages too."""
    group = ExceptionGroup("Alice", [ValueError("Bob: 5"), KeyError("Alice")])
    said = told(lambda: fail(group))
    assert (
        said
        == "ExceptionGroup at fail (test_exception_summary.py) < <lambda> (test_exception_summary.py) < told (test_exception_summary.py)"
    )


def test_a_type_of_the_applications_own_is_told_in_full() -> None:
    """With its module, and the function that it was made in."""

    class BadRecordError(Exception):
        pass

    kind = told(lambda: fail(BadRecordError("Alice"))).partition(" at ")[0]
    assert kind.endswith("full.<locals>.BadRecordError")


def test_a_line_without_a_traceback_is_enough() -> None:
    """As the runner reports that it has no thread."""
    assert str(raised_by("RuntimeError: no thread can be started any more")) == "RuntimeError"
    assert str(raised_by("")) == "an exception"


def test_the_last_of_a_chain_without_tracebacks_counts() -> None:
    """As with `traceback.print_exception(chain=True)` of exceptions that were never raised."""
    link = "During handling of the above exception, another exception occurred:"
    assert raised_by(f"ValueError: a\n\n{link}\n\nKeyError: 'b'").kind == "KeyError"
