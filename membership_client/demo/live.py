"""Shows the live view on a terminal, and the summary at the end."""

from __future__ import annotations

import time
from itertools import takewhile
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.live import Live

from membership_client.demo.events import DemoEvent, StepBegan, StepKind
from membership_client.demo.kit import picture_console, save_picture
from membership_client.demo.view import Picture, render, summary_view

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from membership_client.demo.recording import Recording
    from membership_client.demo.summary import Summary

_FRAMES_PER_SECOND = 8
_WIDEST = 120


class LiveView:
    """In its `with` block, the terminal shows the live view, whose last frame stays on the screen."""

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
                events=self._recording.events,
                began_at=self._recording.began_at,
                now=time.monotonic(),
                width=self._width,
                height=self._console.height,
            )
        )


# --- the picture of a run --------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 112, 34


def save_run(recording: Recording, summary: Summary, file: Path) -> None:
    """Writes the picture. Needs rich."""
    before = tuple(takewhile(lambda event: not _is_last_step(event), recording.events))
    picture = Picture(
        events=before,
        began_at=recording.began_at,
        now=max(event.at for event in before),
        width=_WIDTH,
        height=_HEIGHT,
    )
    console = picture_console(_WIDTH)
    console.print(render(picture))
    console.print(summary_view(summary, _WIDTH))
    save_picture(console, file, title="membership-client demo", unique_id="demo")


def _is_last_step(event: DemoEvent) -> bool:
    return isinstance(event, StepBegan) and event.kind is StepKind.LEAVE
