"""The live view and the picture, rendered to text: a pure function of the recording."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from membership_client.demo.live import save_run
from membership_client.demo.recording import Recording
from membership_client.demo.summary import summarize
from membership_client.demo.view import Picture, render, summary_view
from tests.demo.recorded import Recorded, restart, settled_pair

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType


def text_of(renderable: RenderableType, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, record=True)
    console.print(renderable)
    return console.export_text().splitlines()


def picture(events: Recorded, now: float = 7.0, width: int = 80, height: int = 24) -> list[str]:
    return text_of(render(Picture(events=events, began_at=0, now=now, width=width, height=height)), width)


def test_it_shows_step_members_lanes_and_timeline() -> None:
    shown = "\n".join(picture(restart()))
    for expected in (
        "group g · topic t",
        "2/2  restart",
        "callbacks of a: 0",
        "instance id state",
        "who owned which partition, over time",
        "what happened, and why",
        "takes 1 back (joined the group)",
    ):
        assert expected in shown


def test_a_gap_is_hatched_until_the_owner_is_back() -> None:
    lane = next(line for line in picture(restart()) if line.startswith("│   1 "))
    assert lane.strip("│ ").replace(" ", "") == "1" + "·" * 8 + "b" + "▒" * 8 + "b"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 50), (60, 10), (20, 5)])
def test_it_fits_the_terminal(width: int, height: int) -> None:
    """One line is left for the cursor; a terminal that is too small gets the smallest useful view."""
    lines = picture(restart(), width=width, height=height)
    assert all(len(line) <= width for line in lines)
    assert len(lines) <= max(height - 1, 17)


@pytest.mark.parametrize("count", range(len(restart()) + 1))
def test_every_moment_of_a_run_can_be_shown(count: int) -> None:
    """It can be shown from the first frame, before there is a broker, to the last."""
    assert picture(restart()[:count], now=1.0 + count)


def test_the_summary_is_a_table_that_fits_80_columns() -> None:
    lines = text_of(summary_view(summarize(restart()), 80), 80)
    row = next(line for line in lines if line.startswith(" 2 restart"))
    assert row.split() == ["2", "restart", "0", "1.00", "s", "2", "/", "0", "0", "3", "→", "3", "6/6"]
    assert lines[-1] == "All 10 expectations were met."


def test_what_was_not_as_expected_is_spelled_out() -> None:
    lines = text_of(summary_view(summarize(restart(epoch=4)), 80), 80)
    assert "Step 2: the group epoch rose from 3 to 4." in lines


def test_the_picture_is_an_svg_that_fetches_nothing(tmp_path: Path) -> None:
    recording = Recording()
    for event in settled_pair():
        recording.add(event)
    save_run(recording, summarize(recording.events), tmp_path / "demo.svg")
    svg = (tmp_path / "demo.svg").read_text()
    assert svg.startswith("<svg")
    assert "url(" not in svg.replace("url(#", "")
