"""Executors, found among the processes of a family, and what can happen to them; the demonstration only kills them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, fields

from membership_client_spark.demo import processes
from membership_client_spark.demo.processes import send


@dataclass(frozen=True, slots=True)
class Executor(processes.Executor):
    """One executor at the moment of the look."""

    def terminate(self) -> None:
        """SIGTERM: it runs its shutdown hooks."""
        send(self.pid, signal.SIGTERM)

    def decommission(self) -> None:
        """SIGPWR: it takes no new tasks, if the application has `spark.decommission.enabled`."""
        send(self.pid, signal.SIGPWR)

    def pause(self) -> None:
        """SIGSTOP to the JVM, as in a long garbage collection; its Python workers go on."""
        send(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT to the JVM."""
        send(self.pid, signal.SIGCONT)


def executors_in(first: int) -> Iterator[Executor]:
    """The executors that run in this family."""
    for found in processes.executors_in(first):
        yield Executor(**{one.name: getattr(found, one.name) for one in fields(found)})
