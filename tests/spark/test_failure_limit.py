"""When a slot that fails is given up, and with which error. No Spark."""

from __future__ import annotations

import pytest

from membership_client import MembershipError
from membership_client_spark import SlotFailedError, SupersededError
from membership_client_spark.slot_failure import NO_PYTHON, SAME_FAILURES, FailureLimit, SlotFailure

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: no'


def failure(kind: str = "ValueError", text: str = "no", place: str = "a.py:1 in f") -> SlotFailure:
    return SlotFailure(kind, text, place, TRACEBACK)


def given_up(*failures: SlotFailure) -> MembershipError | None:
    """What the last of them, one after the other without progress, ends the slot with; the others do not."""
    limit = FailureLimit(3)
    *before, last = failures
    assert [limit.error_after(one, progressed=False) for one in before] == [None] * len(before)
    return limit.error_after(last, progressed=False)


def test_the_same_failure_three_times_ends_the_slot_with_its_traceback() -> None:
    """It was tried for ever, and the log had the first line of Spark's wrapper."""
    error = given_up(*[failure()] * SAME_FAILURES)
    assert isinstance(error, SlotFailedError)
    assert str(error) == "Slot 3: it failed 3 times in the same way: ValueError: no."
    assert (error.slot, error.executor_traceback) == (3, TRACEBACK)
    assert TRACEBACK in error.__notes__[0]


def test_texts_with_numbers_are_the_same_if_they_come_from_the_same_place() -> None:
    """And the same text is the same wherever it comes from."""
    assert given_up(*(failure(text=f"pid {number}") for number in range(SAME_FAILURES)))
    assert given_up(*(failure(place=f"a.py:{number} in f") for number in range(SAME_FAILURES)))


def test_other_failures_begin_a_new_count() -> None:
    """Of another type, or with another text from another place."""
    for other in (failure(kind="KeyError"), failure(text="x", place="b.py:1 in f")):
        assert given_up(failure(), failure(), other, failure(), failure()) is None


def test_progress_begins_a_new_count() -> None:
    """A slot that handles records between failures gets on, if slowly."""
    limit = FailureLimit(0)
    assert [limit.error_after(failure(), progressed=True) for _ in range(10)] == [None] * 10


@pytest.mark.parametrize(
    "kind",
    [
        "membership_client.errors.ConnectionProblem",
        "membership_client.admin.errors.NoAnswerError",
        "membership_client.errors.NotOwnedError",
        "membership_client.errors.OffsetTimeoutError",
    ],
)
def test_what_passes_by_itself_never_ends_a_slot(kind: str) -> None:
    """Brokers may be away for an hour."""
    assert given_up(*[failure(kind)] * 50) is None


def test_what_a_slot_itself_knows_to_be_final_ends_it_at_once() -> None:
    """Spark has tried it spark.task.maxFailures times before."""
    failed = given_up(failure("membership_client_spark.errors.SlotFailedError", "The handler raised KeyError: 7."))
    assert isinstance(failed, SlotFailedError)
    assert str(failed) == "Slot 3: The handler raised KeyError: 7."
    assert failed.executor_traceback == TRACEBACK
    superseded = given_up(failure("membership_client_spark.errors.SupersededError", "orders-0 belongs to 7.1"))
    assert isinstance(superseded, SupersededError)
    assert given_up(failure("somebody.SlotFailedError")) is None


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (failure("ModuleNotFoundError", "No module named 'confluent_kafka'"), "Install membership-client[spark] there"),
        (
            failure("ModuleNotFoundError", "No module named 'pyarrow'"),
            "PYSPARK_PYTHON (with spark-submit: spark.pyspark",
        ),
        (failure(NO_PYTHON, 'Cannot run program "python3.12"'), "Set PYSPARK_PYTHON"),
        (
            failure(
                "pyspark.errors.exceptions.base.PySparkRuntimeError", "[PYTHON_VERSION_MISMATCH] Python in worker has"
            ),
            "driver and executors must run the same version of Python",
        ),
    ],
)
def test_an_executor_that_is_set_up_wrongly_is_told_in_a_sentence(last: SlotFailure, sentence: str) -> None:
    """With what to do about it, and at once: it was tried for a minute, three jobs of four tasks each."""
    error = given_up(last)
    assert str(error).startswith("Slot 3: it cannot start:")
    assert sentence in str(error)
    assert last.text in str(error)


def test_an_executor_that_is_set_up_wrongly_later_may_be_the_only_one() -> None:
    """A slot that ran before is tried elsewhere, as after any other failure."""
    last = failure("ModuleNotFoundError", "No module named 'pyarrow'")
    assert given_up(failure(), *[last] * SAME_FAILURES) is not None
    limit = FailureLimit(0)
    assert limit.error_after(last, progressed=True) is None
