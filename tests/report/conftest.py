"""A browser for all tests of the report, and a tab for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from membership_client.cli.program import main
from tests.report.browser import Browser, browser
from tests.report.story import known_run
from tests.report.tab import Tab


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def new_tab(chromium: Browser) -> Iterator[Callable[..., Tab]]:
    """`new_tab(scheme="dark")`; all are closed with the test."""
    tabs: list[Tab] = []

    def make(**how: str) -> Tab:
        tabs.append(Tab(chromium, **how))
        return tabs[-1]

    yield make
    for tab in tabs:
        tab.close()


@pytest.fixture(scope="session")
def known_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of `known_run`, made by the command."""
    folder = tmp_path_factory.mktemp("known")
    report = folder / "report.html"
    assert main(["report", *map(str, known_run(folder)), "-o", str(report)]) == 0
    return report


@pytest.fixture
def tab(new_tab: Callable[..., Tab], known_report: Path) -> Tab:
    """The report of the known run, open."""
    made = new_tab()
    made.open(known_report)
    return made
