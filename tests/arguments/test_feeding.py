"""The feeder itself: what it calls wrong, and what it lets pass."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable

import pytest

from membership_client import ConfigError
from tests.arguments import feeding
from tests.arguments.feeding import Table, feed
from tests.arguments.kinds import Kind
from tests.arguments.surface import Place

PROMISED_S = 0.5
"""Instead of a second, so that the tests are quick."""
WORD = Kind("good", also={"bad": "bad"}, takes=frozenset())
TABLE = Table(by_name={"word": WORD}, by_place={})
OTHERS = frozenset(name for name, _, _ in WORD.values()) - {"bad"}


@pytest.fixture(autouse=True)
def _promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "PROMISED_S", PROMISED_S)


def complaints(meet_bad_value: Callable[[], object]) -> list[str]:
    def take(word: object) -> object:
        return None if word == "good" else meet_bad_value()

    place = Place("take", None, "take", take, tuple(inspect.signature(take).parameters.values()))
    return [complaint.what for complaint in feed(place, take, TABLE, leave_out=OTHERS)]


def refuse() -> None:
    raise ConfigError("no")


def test_a_refusal_is_what_is_wanted() -> None:
    """By one of our errors."""
    assert complaints(refuse) == []


def test_another_exception_is_raw() -> None:
    """It says nothing of the argument."""
    assert complaints(lambda: 1 / 0) == ["raw ZeroDivisionError: division by zero"]


def test_no_exception_is_silence() -> None:
    """The value is of no use, and nobody learns of it."""
    assert complaints(lambda: None) == ["silence"]


def test_a_refusal_that_waits_is_slow() -> None:
    """Whenever it is tried; the bound of fifteen seconds let it pass."""

    def wait_and_refuse() -> None:
        time.sleep(1.2 * PROMISED_S)
        refuse()

    (what,) = complaints(wait_and_refuse)
    assert what.startswith("slow: ")


def test_a_refusal_that_computes_is_slow() -> None:
    """As the one that waits; no busy machine makes this longer."""

    def compute_and_refuse() -> None:
        ends = time.thread_time() + 1.2 * PROMISED_S
        while time.thread_time() < ends:
            pass
        refuse()

    (what,) = complaints(compute_and_refuse)
    assert what.startswith("slow: ")


def test_a_refusal_that_a_busy_machine_held_up_once_is_not_slow() -> None:
    """The next attempt shows it."""
    waits = [1.2 * PROMISED_S]

    def refuse_after_a_wait() -> None:
        time.sleep(waits.pop() if waits else 0.0)
        refuse()

    assert complaints(refuse_after_a_wait) == []


def test_a_call_that_does_not_come_back_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for."""
    monkeypatch.setattr(feeding, "GUARD_S", 2.0)
    over = threading.Event()
    try:
        assert complaints(over.wait) == ["hangs"]
    finally:
        over.set()
