"""The named points of an epoch at which a driver stands still, to be killed, or to go on when another one has overtaken it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from membership_client_spark.delta.table import DeltaTable
from membership_client_spark.iceberg.table import IcebergTable
from membership_client_spark.pipeline.interface import PipelineRun, Published, Resumable
from membership_client_spark.pipeline.slots import Slots
from membership_client_spark.postgres.table import PostgresTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from membership_client_spark.pipeline.ranges import OffsetRange

POINTS = ("begun", "checked", "written", "published", "half committed", "committed")
"""In order. `checked` is right before the table's commit, `written` right after it, before the sink knows that it succeeded;
`half committed` is between the commits of two slots. ParquetSink has no `written`, functions have neither."""


class StopAt:
    """Stops this process, with SIGSTOP, when it comes to the point for the n-th time."""

    def __init__(self, point: str | None, times: int, say: Callable[..., None]) -> None:
        self._point = point
        self._left = times
        self._say = say

    def here(self, point: str) -> None:
        if point != self._point:
            return
        self._left -= 1
        if self._left == 0:
            self._say("at", point=point)
            os.kill(os.getpid(), signal.SIGSTOP)

    def watch(self, foreach_epoch: Any) -> Any:
        """The same, with the points in it."""
        self._after(Slots, "_commit", "half committed")
        self._after(Slots, "commit", "committed")
        self._before(DeltaTable, "manifest", "written")
        self._before(PostgresTable, "_is_published", "written")
        self._before(IcebergTable, "_is_published", "written")
        return (
            WatchedSink(foreach_epoch, self) if isinstance(foreach_epoch, Resumable) else self._watched(foreach_epoch)
        )

    def _watched(self, function: Callable[..., None]) -> Callable[..., None]:
        def run(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
            self.here("begun")
            function(df, epoch_id, offset_ranges)
            self._say("epoch", number=epoch_id)
            self.here("published")

        return run

    def _after(self, kind: type, name: str, point: str) -> None:
        original = getattr(kind, name)

        def call(*arguments: Any) -> Any:
            result = original(*arguments)
            self.here(point)
            return result

        setattr(kind, name, call)

    def _before(self, kind: type, name: str, point: str) -> None:
        original = getattr(kind, name)

        def call(*arguments: Any) -> Any:
            self.here(point)
            return original(*arguments)

        setattr(kind, name, call)


class WatchedSink:
    """A sink, with the points in it."""

    def __init__(self, sink: Any, stop: StopAt) -> None:
        self._sink = sink
        self._stop = stop
        self._call = stop._watched(sink)

    def resume(self, run: PipelineRun) -> Published:
        def check() -> None:
            run.check()
            self._stop.here("checked")

        found: Published = self._sink.resume(PipelineRun(run.spark, run.group_id, check))
        return found

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        self._call(df, epoch_id, offset_ranges)
