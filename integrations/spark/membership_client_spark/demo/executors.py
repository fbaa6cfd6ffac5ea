"""Executors, found among the processes of a family, and what can happen to them."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client_spark.demo.processes import Process, family, send

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAIN_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_DAEMON_MODULE = "pyspark.daemon"


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor at the moment it was looked at. `pid` is its JVM's; a daemon forks Python workers as tasks need them."""

    app_id: str
    executor_id: str
    host: str
    pid: int
    python_daemons: tuple[int, ...]
    python_workers: tuple[int, ...]

    def kill(self) -> None:
        """SIGKILL to the JVM; its Python processes end by themselves, a little later."""
        send(self.pid, signal.SIGKILL)

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
    relatives = family(first)
    for process in relatives:
        if _MAIN_CLASS in process.arguments:
            yield _executor(process, relatives)


def _executor(jvm: Process, relatives: list[Process]) -> Executor:
    daemons = [child for child in jvm.children(relatives) if _DAEMON_MODULE in child.arguments]
    workers = [worker for daemon in daemons for worker in daemon.children(relatives)]
    return Executor(
        app_id=_option(jvm, "--app-id"),
        executor_id=_option(jvm, "--executor-id"),
        host=_option(jvm, "--hostname"),
        pid=jvm.pid,
        python_daemons=tuple(daemon.pid for daemon in daemons),
        python_workers=tuple(worker.pid for worker in workers),
    )


def _option(jvm: Process, name: str) -> str:
    return jvm.arguments[jvm.arguments.index(name) + 1]
