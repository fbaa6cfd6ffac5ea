"""The list of what happened. Belongs to one thread; watchers are called with each happening."""

from __future__ import annotations

import time
from collections.abc import Callable

from membership_client.demo.kit import Remark
from membership_client_spark.demo.happenings import Happening

Watcher = Callable[[Happening], None]


class PipelineRecording:
    """Begins empty."""

    def __init__(self, watcher: Watcher) -> None:
        self.happenings: list[Happening] = []
        self._watcher = watcher

    def add(self, happening: Happening) -> None:
        self.happenings.append(happening)
        self._watcher(happening)

    def remark(self, text: str) -> None:
        """A sentence of the demonstration's own."""
        self.add(Remark(at=time.monotonic(), text=text))
