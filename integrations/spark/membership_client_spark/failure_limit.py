"""When a slot that fails is given up: after it has failed in the same way three times in a row, without progress in between."""

from __future__ import annotations

from membership_client import ConnectionProblem, MembershipError, NotOwnedError, OffsetTimeoutError, WaitTimeoutError
from membership_client_spark.errors import SlotFailedError, SupersededError
from membership_client_spark.slot_failure import SlotFailure, setup_advice

SAME_FAILURES = 3
"""Number of failed jobs of a slot in a row, each tried by Spark as often as spark.task.maxFailures says."""


def _names(*kinds: type[BaseException]) -> frozenset[str]:
    """Of these classes and all that are made of them. Spark tells the names of exceptions, and not the exceptions."""
    below = [_names(*kind.__subclasses__()) for kind in kinds]
    return frozenset(kind.__name__ for kind in kinds).union(*below)


_FINAL = {kind.__name__: kind for kind in (SlotFailedError, SupersededError)}
"""Starting the slot again would not help."""


class FailureLimit:
    """Of one slot. Belongs to the thread that runs it. A loss is no failure: it is not counted, however often it comes."""

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
        is_same = self._last is not None and failure.is_like(self._last) and not progressed
        self._last, self._count = failure, self._count + 1 if is_same else 1
        if self._count < SAME_FAILURES:
            return None
        return self._error(
            SlotFailedError,
            f"it failed {self._count} times in the same way: {setup_advice(failure) or f'{failure}.'}",
            failure,
        )

    def _error(self, kind: type[MembershipError], detail: str, failure: SlotFailure) -> MembershipError:
        error = kind(f"Slot {self._slot}: {detail}")
        if isinstance(error, SlotFailedError):
            error.slot, error.executor_traceback = self._slot, failure.traceback
            error.add_note(f"On the executor of slot {self._slot}:\n{failure.traceback}")
        return error


def _passes(name: str) -> bool:
    """Brokers that do not answer, and partitions that are others' by now, come and go without anybody's doing."""
    return name in _names(ConnectionProblem, NotOwnedError, OffsetTimeoutError, WaitTimeoutError)
