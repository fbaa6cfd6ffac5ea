"""Shows the live view on a terminal, and the summary at the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.live import Live

from membership_client.demo.view import Picture, render, summary_view

if TYPE_CHECKING:
    from rich.console import RenderableType

    from membership_client.demo.recording import Recording
    from membership_client.demo.summary import Summary

_FRAMES_PER_SECOND = 8
_WIDEST = 120


class LiveView:
    """A context in which the terminal shows the live view; its last frame stays on the screen."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._console = Console()
        self._live = Live(console=self._console, get_renderable=self._render, refresh_per_second=_FRAMES_PER_SECOND)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, summary: Summary) -> None:
        """Ends the live view and prints the summary."""
        self._live.stop()
        self._console.print(summary_view(summary, self._width))

    @property
    def _width(self) -> int:
        return min(_WIDEST, self._console.width)

    def _render(self) -> RenderableType:
        return render(
            Picture(
                happenings=self._recording.happenings,
                began_at=self._recording.began_at,
                now=time.monotonic(),
                width=self._width,
                height=self._console.height,
            )
        )
