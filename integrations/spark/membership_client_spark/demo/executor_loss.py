"""Watches the driver, and kills one of its executors in the middle of an epoch."""

from __future__ import annotations

import time

from membership_client.admin import GroupAdmin
from membership_client.demo.kit import GroupSeen
from membership_client_spark.demo.driver import GROUP
from membership_client_spark.demo.driver_process import DriverProcess
from membership_client_spark.demo.events import (
    AllRead,
    Counted,
    DriverReport,
    EpochBegan,
    EpochCommitted,
    ExecutorGone,
    ExecutorKilled,
    ExecutorStarted,
    PipelineRecording,
)
from membership_client_spark.demo.processes import Executor

_LOOK_S = 0.2
_PATIENCE_S = 120.0
"""The longest time between two events: Spark may have to start a JVM, executors and Python workers."""

_INTO_THE_EPOCH = 0.4
"""When the executor is killed, as a part of the duration of the epoch before."""


class ExecutorLoss:
    """The demonstration from the first report of the driver to the last. Call `run` once."""

    def __init__(
        self, driver: DriverProcess, recording: PipelineRecording, bootstrap_servers: str, kill_in: int
    ) -> None:
        self._driver = driver
        self._recording = recording
        self._bootstrap_servers = bootstrap_servers
        self._kill_in = kill_in
        self._running: dict[str, Executor] = {}
        self._epoch = 0
        self._pace_s = 0.0
        self._kill_at: float | None = None
        self._killed: str | None = None

    def run(self) -> None:
        """Returns when the driver has counted what is in the Parquet files. DriverFailedError if it ends before."""
        while not isinstance(said := self._driver.next_report(_LOOK_S), Counted):
            if said is not None:
                self._hear(said)
            self._watch_executors()
            self._kill_if_due()
            self._check_patience()
        self._hear(said)

    def _hear(self, said: DriverReport) -> None:
        self._recording.add(said)
        match said:
            case EpochBegan(epoch=epoch):
                self._epoch = epoch
                if epoch == 1:
                    self._look_at_group()
                if epoch >= self._kill_in and self._killed is None:
                    self._kill_at = said.at + self._pace_s * _INTO_THE_EPOCH
            case EpochCommitted(seconds=seconds):
                self._pace_s, self._kill_at = seconds, None
            case AllRead():
                self._look_at_group()
            case _:
                pass

    def _check_patience(self) -> None:
        if time.monotonic() - self._recording.events[-1].at > _PATIENCE_S:
            raise self._driver.failure(f"Spark's driver has reported nothing for {_PATIENCE_S:g} s.")

    def _look_at_group(self) -> None:
        with GroupAdmin(self._bootstrap_servers) as admin:
            group = admin.describe(GROUP, lag=False)
        assert group.epoch is not None
        self._recording.add(GroupSeen(at=time.monotonic(), epoch=group.epoch, members=len(group.members)))

    def _watch_executors(self) -> None:
        now, running = time.monotonic(), {one.executor_id: one for one in self._driver.executors()}
        for gone in sorted(self._running.keys() - running.keys()):
            self._recording.add(ExecutorGone(at=now, executor=gone))
        for new in sorted(running.keys() - self._running.keys()):
            self._recording.add(ExecutorStarted(at=now, executor=new, pid=running[new].pid))
        self._running = running

    def _kill_if_due(self) -> None:
        if self._kill_at is None or time.monotonic() < self._kill_at:
            return
        # An executor with a Python worker that reads the epoch; without one, no work would be lost.
        if target := next((one for one in self._running.values() if one.python_workers), None):
            target.kill()
            self._kill_at, self._killed = None, target.executor_id
            self._recording.add(
                ExecutorKilled(at=time.monotonic(), executor=target.executor_id, pid=target.pid, epoch=self._epoch)
            )
