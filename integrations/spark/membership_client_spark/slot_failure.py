"""Why a slot's job failed, out of what Spark tells the driver: a Python exception with its traceback, or a loss."""

from __future__ import annotations

import re
import textwrap
import traceback
from dataclasses import dataclass

_BEGIN = re.compile(r"(?:^|(?<=: ))Traceback \(most recent call last\):$", re.MULTILINE)
_END = re.compile(r"^(?:\tat |Driver stacktrace:|JVM stacktrace:|Caused by: )", re.MULTILINE)
"""Where the JVM's own lines begin, after those of Python."""
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
_RAISED = re.compile(r"^(\w[\w.]*)(?:: (.*))?\Z", re.MULTILINE | re.DOTALL)
_CAUSE = "\nIt was caused by:\n"

_NO_PYTHON = re.compile(r'Cannot run program ".*|Error from python worker:\s+.*')
"""What the JVM tells of a Python that does not start; there is no exception then."""

_OF_THE_JVM = ("py4j.", "pyspark.errors.exceptions.captured", "pyspark.errors.exceptions.connect", "grpc")
"""Modules of exceptions that Spark's Python makes of what the JVM, or a Connect server, told."""

NO_PYTHON = "no Python"
"""The kind of a failure without an exception: the executor has no Python, or one without pyspark."""

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
    """None for a loss: an executor, a Python worker or a job that ended, without any Python code that raised."""
    told = str(error)
    if begin := _BEGIN.search(told):
        return _parsed(told[begin.start() :])
    if found := _NO_PYTHON.search(told):
        return SlotFailure(NO_PYTHON, " ".join(found[0].split()), "", told)
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
    """As `setup_advice`, for an error that Spark raised on the driver; None for all that the driver's own code raised."""
    if not type(error).__module__.startswith(_OF_THE_JVM):
        return None
    failure = failure_in(error)
    return setup_advice(failure) if failure else None


def _parsed(told: str) -> SlotFailure | None:
    """Of several tracebacks, one the cause of the next, the last is of the exception that ended the task."""
    end = _END.search(told)
    text = (told[: end.start()] if end else told).strip()
    begins = [begin.start() for begin in _BEGIN.finditer(text)]
    frames = list(_FRAME.finditer(text, begins[-1] if begins else 0))
    raised = _RAISED.search(text, frames[-1].end() if frames else 0)
    if raised is None:
        return None
    said, _, _ = (raised[2] or "").partition(_CAUSE)
    place = "{}:{} in {}".format(*frames[-1].groups()) if frames else ""
    return SlotFailure(raised[1], said.strip(), place, text)
