"""What Spark 4.3 reports of a job that failed: exceptions of Python with their tracebacks, and losses."""

from __future__ import annotations

import pickle

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PythonException
from pyspark.errors.exceptions.connect import PythonException as ConnectPythonException

from membership_client_spark.errors import SlotFailedError
from membership_client_spark.slot_failure import NO_PYTHON, cause_note, failure_in, setup_note

MISSING = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/spark/python/lib/pyspark.zip/pyspark/worker_util.py", line 75, in read_command
    command = serializer.loads(file)
              ^^^^^^^^^^^^^^^^^^^^^^
  File "/spark/python/lib/pyspark.zip/pyspark/serializers.py", line 483, in loads
    return cloudpickle.loads(obj, encoding=encoding)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'confluent_kafka\'"""

WITH_CAUSE = """Job aborted due to stage failure: Lost task 0.3 in stage 0.0: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "slot.py", line 5, in _handle
    self._task.handle(batch, slot)
ValueError: one

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "slot.py", line 7, in _handle
    raise _failed(f"...") from error
membership_client_spark.errors.SlotFailedError: The handler raised ValueError: one
and two.
\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:637)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "other.py", line 1, in other
KeyError: 7
"""

EXECUTOR_LOST = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task 0.3 in \
stage 3.0 (TID 15) (localhost executor 1): ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: \
Command exited with code 137

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:4560)"""

WORKER_LOST = """Job aborted due to stage failure: Lost task 0.3: org.apache.spark.SparkException: Python worker exited \
unexpectedly (crashed).
\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:637)"""

CANCELLED = "[SPARK_JOB_CANCELLED] Job 5 cancelled as part of cancellation of all jobs SQLSTATE: XXKDA"

NO_PYSPARK = """org.apache.spark.SparkException:
Error from python worker:
  /usr/bin/python3: No module named pyspark
PYTHONPATH was:
  /spark/python"""


def test_an_exception_on_an_executor_is_found_with_its_place() -> None:
    """Without the lines that Spark puts before it."""
    failure = failure_in(PythonException(MISSING))
    assert failure is not None
    assert str(failure) == "ModuleNotFoundError: No module named 'confluent_kafka'"
    assert failure.place == "/spark/python/lib/pyspark.zip/pyspark/serializers.py:483 in loads"
    assert failure.traceback == MISSING.partition("\n")[2]


def test_of_a_chain_the_last_exception_counts_and_all_are_kept() -> None:
    """The JVM's own lines, and what it repeats below them, are left out."""
    failure = failure_in(PythonException(WITH_CAUSE))
    assert failure is not None
    assert failure.kind == "membership_client_spark.errors.SlotFailedError"
    assert failure.text == "The handler raised ValueError: one\nand two."
    assert failure.place == "slot.py:7 in _handle"
    assert "ValueError: one\n\nThe above" in failure.traceback
    assert "scala" not in failure.traceback
    assert "KeyError" not in failure.traceback


def raised_by_a_handler() -> SlotFailedError:
    try:
        return SlotFailedError(str(int("no number")))
    except ValueError as error:
        failed = SlotFailedError(f"The handler raised ValueError: {error}.")
        failed.add_note(cause_note(error))
        return failed


def test_the_traceback_of_a_cause_travels_in_a_note() -> None:
    """Spark 4 drops the cause of what a task raises: the line of the handler was not shown."""
    failed = raised_by_a_handler()
    failed.__cause__ = None
    failure = failure_in(failed)
    assert failure is not None
    assert failure.kind == "membership_client_spark.errors.SlotFailedError"
    assert failure.text == "The handler raised ValueError: invalid literal for int() with base 10: 'no number'."
    assert "in raised_by_a_handler\n" in failure.traceback
    assert "ValueError: invalid literal" in failure.traceback.partition("It was caused by:")[2]


@pytest.mark.parametrize("text", [EXECUTOR_LOST, WORKER_LOST, CANCELLED], ids=["executor", "worker", "cancelled"])
def test_losses_are_no_failures(text: str) -> None:
    """Executors, workers and jobs that ended: no Python code raised."""
    assert failure_in(Py4JError(text)) is None


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            'java.io.IOException: Cannot run program "python3.12": error=2, No such file or directory\n\tat java.base/x',
            'Cannot run program "python3.12": error=2, No such file or directory',
        ),
        (NO_PYSPARK, "Error from python worker: /usr/bin/python3: No module named pyspark"),
    ],
)
def test_a_python_that_does_not_start_is_a_failure(told: str, text: str) -> None:
    """Although there is no exception of Python's then."""
    failure = failure_in(Py4JError(told))
    assert failure is not None
    assert (failure.kind, failure.text) == (NO_PYTHON, text)


def test_what_the_driver_itself_raises_is_a_failure() -> None:
    """A handler that cannot be sent to executors was tried for ever."""
    with pytest.raises((pickle.PicklingError, AttributeError), match="local object") as raised:
        pickle.dumps(lambda: None)
    failure = failure_in(raised.value)
    assert failure is not None
    assert "local object" in str(failure)
    assert "in test_what_the_driver_itself_raises_is_a_failure" in failure.place


def test_a_worker_of_the_wrong_python_is_told_which_variable_to_set() -> None:
    """`venv/bin/python job.py` without the venv activated: epochs() showed nothing but a ModuleNotFoundError."""
    note = setup_note(ConnectPythonException(MISSING))
    assert note is not None
    assert "No module named 'confluent_kafka'" in note
    assert "PYSPARK_PYTHON" in note


def test_what_the_driver_itself_lacks_is_not_told_of_executors() -> None:
    """An import in foreach_epoch that fails is no matter of workers; a lost executor has no advice."""
    assert setup_note(ModuleNotFoundError("No module named 'shop'")) is None
    assert setup_note(ConnectPythonException(EXECUTOR_LOST)) is None
