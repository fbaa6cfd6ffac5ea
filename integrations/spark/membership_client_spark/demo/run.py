"""Runs the demonstration from beginning to end and returns its exit code."""

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
from membership_client.demo.kit import CANNOT_RUN, INTERRUPTED, NOT_AS_EXPECTED, OK, interrupt_on_signals, svg_problem
from membership_client_spark.demo.broker import BrokerError, EmbeddedBroker, embedded_broker
from membership_client_spark.demo.driver import MASTER, SLOTS
from membership_client_spark.demo.driver_process import DriverFailedError, DriverProcess
from membership_client_spark.demo.events import DriverTask, PipelineRecording, Produced
from membership_client_spark.demo.executor_loss import ExecutorLoss
from membership_client_spark.demo.orders import PARTITIONS, OrdersError, create_topic, produce
from membership_client_spark.demo.screen import Screen, save_screen
from membership_client_spark.demo.summary import PipelineSummary, summarize

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
    interrupt_on_signals()
    try:
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
        recording.remark("starting real Kafka on this machine, which takes a few seconds")
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
    recording.remark(f"Kafka {broker.version} serves; producing orders to a topic with {PARTITIONS} partitions")
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
