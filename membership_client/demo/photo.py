"""The picture of a run, as an SVG file: the group just before its members left, and the summary."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from membership_client.demo.happenings import Happening, StepBegan, StepKind
from membership_client.demo.kit import picture_console, save_picture
from membership_client.demo.view import Picture, render, summary_view

if TYPE_CHECKING:
    from pathlib import Path

    from membership_client.demo.recording import Recording
    from membership_client.demo.summary import Summary

_WIDTH, _HEIGHT = 112, 34


def take_photo(recording: Recording, summary: Summary, file: Path) -> None:
    """Writes the picture. Needs rich."""
    before = tuple(takewhile(lambda happening: not _is_last_step(happening), recording.happenings))
    picture = Picture(
        happenings=before,
        began_at=recording.began_at,
        now=max(happening.at for happening in before),
        width=_WIDTH,
        height=_HEIGHT,
    )
    console = picture_console(_WIDTH)
    console.print(render(picture))
    console.print(summary_view(summary, _WIDTH))
    save_picture(console, file, title="membership-client demo", unique_id="demo")


def _is_last_step(happening: Happening) -> bool:
    return isinstance(happening, StepBegan) and happening.scene is StepKind.LEAVE
