"""A large group: fifty members, five hundred partitions, one hour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from membership_client.cli.program import main
from tests.report.story import large_group
from tests.report.tab import Tab

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    assert main(["report", *map(str, large_group(folder)), "-o", str(folder / "report.html")]) == 0
    return folder / "report.html"


@pytest.fixture
def tab(new_tab: Callable[..., Tab], large_report: Path) -> Tab:
    made = new_tab()
    made.open(large_report)
    return made


def test_all_of_it_is_there(tab: Tab) -> None:
    """And at the end of a long way down the last lane answers to the pointer."""
    assert tab.ask("[report.model.members.length, report.model.partitions.length]") == [50, 500]
    tab.ask("report.scroll.scrollTop = 1e6")
    tab.wait_for("report.scroll.scrollTop > 5000 && !report.pending")
    tab.mouse("mouseMoved", 800, tab.ask("report.scroll.getBoundingClientRect().bottom - 8"))
    assert "orders-499" in tab.text("#tip")
    assert tab.complaints() == []


def test_only_what_is_in_sight_is_drawn(tab: Tab) -> None:
    """Rows outside are not touched, and what is closer than a pixel is drawn once."""
    counting = """(() => {
        const count = {row: 0, bar: 0};
        for (const name of ["row", "bar"]) {
            const real = report.drawing[name].bind(report.drawing);
            report.drawing[name] = (...given) => { count[name] += 1; return real(...given); };
        }
        report.scroll.scrollTop = 4000;
        report.draw();
        const everything = {...count};
        report.view.set(600, 660);
        Object.assign(count, {row: 0, bar: 0});
        report.draw();
        return [everything, {...count}];
    })()"""
    everything, minute = tab.ask(counting)
    assert everything["row"] < 100
    assert minute["bar"] <= 4 * minute["row"]
    assert minute["bar"] < everything["bar"]


def test_members_beyond_the_colours_have_textures(tab: Tab) -> None:
    """No two of fifty look alike."""
    assert tab.ask("new Set(report.model.members.map((one) => one.colour + '/' + one.texture)).size") == 50
