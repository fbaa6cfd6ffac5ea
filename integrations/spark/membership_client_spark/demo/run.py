"""Runs the demonstration from beginning to end, kills an executor in the middle, and returns the exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import membership_client
import membership_client_spark
from membership_client.admin import GroupAdmin
from membership_client.demo.kit import (
    CANNOT_RUN,
    INTERRUPTED,
    NOT_AS_EXPECTED,
    OK,
    GroupSeen,
    interruptible,
    svg_problem,
)
from membership_client_spark.demo.driver import GROUP, MASTER, SLOTS
from membership_client_spark.demo.driver_process import DriverFailedError, DriverProcess
from membership_client_spark.demo.events import (
    AllRead,
    Counted,
    DriverReport,
    DriverTask,
    EpochBegan,
    EpochDone,
    ExecutorGone,
    ExecutorKilled,
    ExecutorStarted,
    PipelineRecording,
    Produced,
)
from membership_client_spark.demo.orders import (
    PARTITIONS,
    BrokerError,
    EmbeddedBroker,
    OrdersError,
    broker_kind,
    create_topic,
    embedded_broker,
    produce,
)
from membership_client_spark.demo.processes import Executor
from membership_client_spark.demo.screen import Screen, save_screen
from membership_client_spark.demo.summary import PipelineSummary, summarize

_BROKERS = {
    "kafka": "starting real Kafka on this machine, which takes a few seconds",
    "embedded": "starting an embedded broker, because the jars of real Kafka are not on this machine",
}

_EPOCHS = 8
_KILL_IN = 4


class CannotRunError(RuntimeError):
    """This machine lacks something, or a directory cannot be used; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkDemoOptions:
    """The command line."""

    records: int
    keep: Path | None = None
    svg: Path | None = None


def run(options: SparkDemoOptions) -> int:
    """Runs it and prints it. Returns one of the exit codes of `kit`."""
    try:
        with interruptible():
            return _run(options)
    except (BrokerError, DriverFailedError, CannotRunError, OrdersError) as error:
        return _end(CANNOT_RUN, str(error))
    except BrokenPipeError:
        # The reader of our output is gone: what is still printed goes to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except KeyboardInterrupt:
        return _end(INTERRUPTED, "interrupted; nothing is left running.")


def _end(code: int, why: str) -> int:
    print(f"membership-client-spark demo: {why}", file=sys.stderr)
    return code


def _run(options: SparkDemoOptions) -> int:
    _check(options)
    screen = Screen(time.monotonic())
    recording = PipelineRecording(screen.show_event)
    with _directory(options.keep) as directory:
        recording.remark(_BROKERS[broker_kind()])
        with embedded_broker() as broker:
            _run_pipeline(broker, directory, options.records, recording)
        summary = summarize(recording.events)
        screen.show_summary(summary)
    _say_what_is_kept(options, screen)
    return _exit_code(summary)


def _exit_code(summary: PipelineSummary) -> int:
    return OK if summary.as_expected else NOT_AS_EXPECTED


def _check(options: SparkDemoOptions) -> None:
    """CannotRunError, before anything is started, if something is missing."""
    if not Path("/proc/self/stat").exists():
        raise CannotRunError("executors are found through /proc, which this system does not have; Linux has it.")
    if problem := svg_problem(options.svg):
        raise CannotRunError(problem)


def _run_pipeline(broker: EmbeddedBroker, directory: Path, records: int, recording: PipelineRecording) -> None:
    recording.remark(f"{broker.title} serves; producing orders to a topic with {PARTITIONS} partitions")
    create_topic(broker.bootstrap_servers)
    cents = produce(broker.bootstrap_servers, records)
    recording.add(Produced(at=time.monotonic(), records=records, cents=cents))
    recording.remark(f"starting Spark as {MASTER}, and a pipeline with {SLOTS} slots")
    task = DriverTask(
        bootstrap_servers=broker.bootstrap_servers,
        directory=str(directory),
        python_path=_python_path(),
        records=records,
        max_records=-(-records // _EPOCHS),
    )
    with DriverProcess(task, directory / "spark", broker.java) as driver:
        ExecutorLoss(driver, recording, broker.bootstrap_servers, kill_in=_KILL_IN).run()


def _python_path() -> str:
    """The PYTHONPATH of this process, after the directories of both packages."""
    homes = {Path(package.__file__ or "").parents[1]: None for package in (membership_client, membership_client_spark)}
    return os.pathsep.join([*map(str, homes), *filter(None, [os.environ.get("PYTHONPATH")])])


def _say_what_is_kept(options: SparkDemoOptions, screen: Screen) -> None:
    if options.keep is not None:
        print(
            f"The orders are in {options.keep}/orders, the revenue in {options.keep}/revenue, Spark's logs in {options.keep}/spark."
        )
    if options.svg is not None:
        save_screen(screen.printed, options.svg)
        print(f"The picture is in {options.svg}.")


# --- where the files are ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    """`keep`, or a temporary directory. CannotRunError if `keep` is not empty or cannot be made."""
    if keep is not None:
        yield _empty_directory(keep.absolute())
        return
    # An executor that is being killed may still write while the directory is removed.
    with tempfile.TemporaryDirectory(prefix="membership-client-spark-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def _empty_directory(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        taken = any(directory.iterdir())
    except OSError as error:
        raise CannotRunError(f"--keep {directory}: {error.strerror}.") from error
    if taken:
        raise CannotRunError(f"--keep {directory}: the directory is not empty; give a directory that is new or empty.")
    return directory


# --- an executor is killed in the middle of an epoch -----------------------------------------------------------------

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
            case EpochDone(seconds=seconds):
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
