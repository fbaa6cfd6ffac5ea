"""Why a slot's job failed, from what Spark says on the driver, and when a slot that fails again and again is given up."""

from __future__ import annotations

import re
import textwrap
import traceback
from dataclasses import dataclass

from membership_client import ConnectionProblem, MembershipError, NotOwnedError, OffsetTimeoutError, WaitTimeoutError
from membership_client_spark.errors import SlotFailedError, SupersededError

_BEGIN = re.compile(r"(?:^|(?<=: ))Traceback \(most recent call last\):$", re.MULTILINE)
_END = re.compile(r"^(?:\tat |Driver stacktrace:|JVM stacktrace:|Caused by: )", re.MULTILINE)
"""Where the JVM's own lines begin, after those of Python."""
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
_RAISED = re.compile(r"^(\w[\w.]*)(?:: (.*))?\Z", re.MULTILINE | re.DOTALL)
_CAUSE = "\nIt was caused by:\n"

_NO_PYTHON = re.compile(r'Cannot run program ".*|Error from python worker:\s+.*')
"""What the JVM reports of a Python that does not start; there is no Python exception then."""

_OF_THE_JVM = ("py4j.", "pyspark.errors.exceptions.captured", "pyspark.errors.exceptions.connect", "grpc")
"""Modules of the exceptions with which pyspark reports errors of the JVM or of a Connect server."""

NO_PYTHON = "no Python"
"""The kind of a failure without a Python exception: the executor has no Python, or one without pyspark."""

_WHICH_PYTHON = "PYSPARK_PYTHON (with spark-submit: spark.pyspark.python)"
"""pyspark 4.3 reads only the variable in a driver that python itself started; the setting of a session has no effect."""


@dataclass(frozen=True, slots=True)
class SlotFailure:
    """What Python raised, on an executor, or on the driver if the task could not even be sent."""

    kind: str
    """The exception's class, with its module unless it is a built-in one."""
    text: str
    place: str
    """File, line and function that raised it."""
    traceback: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" if self.text else self.kind

    def is_like(self, other: SlotFailure) -> bool:
        """The same exception with the same text, or from the same place: texts may have numbers that change."""
        return self.kind == other.kind and (self.text == other.text or self.place == other.place)


def cause_note(cause: BaseException) -> str:
    """For `add_note` on an executor: Spark 4 drops the cause of what a task raises, and with it a handler's traceback."""
    return _CAUSE.lstrip() + textwrap.indent("".join(traceback.format_exception(cause)), "    ")


def failure_in(error: BaseException) -> SlotFailure | None:
    """The Python exception in what Spark raised. None for a loss: an executor, a worker or a job ended, and no code raised."""
    text = str(error)
    if begin := _BEGIN.search(text):
        return _parsed(text[begin.start() :])
    if found := _NO_PYTHON.search(text):
        return SlotFailure(NO_PYTHON, " ".join(found[0].split()), "", text)
    if type(error).__module__.startswith(_OF_THE_JVM):
        return None
    return _parsed("".join(traceback.format_exception(error)))


def setup_advice(failure: SlotFailure) -> str | None:
    """A sentence for a Python on executors that is missing, is another version or lacks a package; None for other failures."""
    if failure.kind == NO_PYTHON:
        return f"Python does not start on executors ({failure.text}). Set {_WHICH_PYTHON} to one that is there."
    if failure.kind == "ModuleNotFoundError":
        return (
            f"the executors' Python lacks a package ({failure.text}). Spark runs python3 of the PATH there unless "
            f"{_WHICH_PYTHON} names another: set it to the one that has membership-client[spark], before the session "
            "is made. Install membership-client[spark] there, or ship an environment (spark.archives); ship modules of "
            "your own by spark.submit.pyFiles."
        )
    if "PYTHON_VERSION_MISMATCH" in failure.text:
        return f"driver and executors must run the same version of Python ({failure.text}). Set {_WHICH_PYTHON}."
    return None


def setup_note(error: BaseException) -> str | None:
    """As `setup_advice`, for an error that Spark raised on the driver; None for errors of the driver's own code."""
    if not type(error).__module__.startswith(_OF_THE_JVM):
        return None
    failure = failure_in(error)
    return setup_advice(failure) if failure else None


def _parsed(output: str) -> SlotFailure | None:
    """The last traceback is that of the exception that ended the task; those before it are of its causes."""
    end = _END.search(output)
    text = (output[: end.start()] if end else output).strip()
    begins = [begin.start() for begin in _BEGIN.finditer(text)]
    frames = list(_FRAME.finditer(text, begins[-1] if begins else 0))
    raised = _RAISED.search(text, frames[-1].end() if frames else 0)
    if raised is None:
        return None
    said, _, _ = (raised[2] or "").partition(_CAUSE)
    place = "{}:{} in {}".format(*frames[-1].groups()) if frames else ""
    return SlotFailure(raised[1], said.strip(), place, text)


# --- when a slot is given up -----------------------------------------------------------------------------------------

SAME_FAILURES = 3
"""Failed jobs of a slot in a row; Spark tries each job as often as spark.task.maxFailures says."""


def _names(*kinds: type[BaseException]) -> frozenset[str]:
    """The names of these classes and their subclasses: Spark reports the names of exceptions, not the exceptions."""
    below = [_names(*kind.__subclasses__()) for kind in kinds]
    return frozenset(kind.__name__ for kind in kinds).union(*below)


_FINAL = {kind.__name__: kind for kind in (SlotFailedError, SupersededError)}
"""Errors after which starting the slot again would not help."""


class FailureLimit:
    """Counts the failures of one slot. Belongs to the thread that runs it. A loss is no failure and is not counted."""

    def __init__(self, slot: int) -> None:
        self._slot = slot
        self._last: SlotFailure | None = None
        self._count = 0

    def error_after(self, failure: SlotFailure, *, progressed: bool) -> MembershipError | None:
        """The error that ends the job, with the executor's traceback; None if the slot is to be started again.

        `progressed`: since its last failure the slot handled records, or ran for long.
        """
        name = failure.kind.rpartition(".")[2]
        if name in _FINAL and failure.kind.startswith(_FINAL[name].__module__):
            return self._error(_FINAL[name], failure.text, failure)
        if _passes(name):
            return None
        advice = setup_advice(failure)
        if advice and self._last is None and not progressed:
            return self._error(SlotFailedError, f"it cannot start: {advice}", failure)
        is_same = self._last is not None and failure.is_like(self._last) and not progressed
        self._last, self._count = failure, self._count + 1 if is_same else 1
        if self._count < SAME_FAILURES:
            return None
        return self._error(
            SlotFailedError,
            f"it failed {self._count} times in the same way: {advice or f'{failure}.'}",
            failure,
        )

    def _error(self, kind: type[MembershipError], detail: str, failure: SlotFailure) -> MembershipError:
        error = kind(f"Slot {self._slot}: {detail}")
        if isinstance(error, SlotFailedError):
            error.slot, error.executor_traceback = self._slot, failure.traceback
            error.add_note(f"On the executor of slot {self._slot}:\n{failure.traceback}")
        return error


def _passes(name: str) -> bool:
    """Whether the error goes away by itself: brokers that do not answer, partitions that other members own by now."""
    return name in _names(ConnectionProblem, NotOwnedError, OffsetTimeoutError, WaitTimeoutError)
