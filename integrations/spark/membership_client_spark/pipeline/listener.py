"""Events of a pipeline for the driver's program, as Spark's StreamingQueryListener has them for a streaming query."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from membership_client_spark.pipeline.interface import EpochReport, EpochsProgress

logger = logging.getLogger("membership_client_spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStarted:
    """The pipeline's thread runs. Its members have not joined yet."""

    name: str
    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCommitted:
    """`foreach_epoch` has returned, and the offsets of the epoch are committed."""

    name: str
    group_id: str
    epoch: EpochReport
    progress: EpochsProgress
    """The whole pipeline at this moment, with lag and slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEnded:
    """The pipeline has ended, and its members have left."""

    name: str
    group_id: str
    progress: EpochsProgress
    error: BaseException | None
    """What `wait()` raises; None if the pipeline was stopped, or has read all that it was to read."""


class EpochsListener:
    """Give a subclass of it to `epochs(listener=...)`, and override what you want to be told of.

    Methods run on the pipeline's thread, so the next epoch waits for them; members send their heartbeats meanwhile. An
    exception that a method raises is logged, and the pipeline goes on. `stop()` of the pipeline may be called in all of them.
    """

    def on_started(self, event: PipelineStarted) -> None:
        """The first call, once."""

    def on_epoch(self, event: EpochCommitted) -> None:
        """Once for each committed epoch, in their order."""

    def on_ended(self, event: PipelineEnded) -> None:
        """The last call, once, before `wait()` returns. Not called if the driver's process is killed."""


class Events:
    """Tells the listeners of one pipeline, on its thread. Raises nothing that they raise."""

    def __init__(self, name: str, group_id: str) -> None:
        self._name = name
        self._group_id = group_id
        self._listeners: list[EpochsListener] = []

    def add(self, listener: EpochsListener) -> None:
        """Before the pipeline's thread starts."""
        self._listeners.append(listener)

    def started(self) -> None:
        event = PipelineStarted(name=self._name, group_id=self._group_id)
        self._tell(lambda listener: listener.on_started(event))

    def epoch(self, report: EpochReport, progress: EpochsProgress) -> None:
        event = EpochCommitted(name=self._name, group_id=self._group_id, epoch=report, progress=progress)
        self._tell(lambda listener: listener.on_epoch(event))

    def ended(self, progress: EpochsProgress, error: BaseException | None) -> None:
        event = PipelineEnded(name=self._name, group_id=self._group_id, progress=progress, error=error)
        self._tell(lambda listener: listener.on_ended(event))

    def _tell(self, call: Callable[[EpochsListener], None]) -> None:
        for listener in self._listeners:
            try:
                call(listener)
            except Exception:
                logger.exception("[%s] the listener %s raised an exception", self._name, type(listener).__name__)
