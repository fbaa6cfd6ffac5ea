"""Hostile traces in a browser, where each page that a report makes of them loads and draws; and the large ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.tab import Tab
from tests.trace.hostile_traces import HOSTILE, LARGE, flaws, ran, write_all

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]


def test_pages_of_hostile_traces_load(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """Absurd times and NaN in a trace gave pages that never drew anything."""
    names = {str(path): name for name, path in write_all(tmp_path, HOSTILE).items()}
    ran(tmp_path)
    pages = sorted(tmp_path.glob("*.html"))
    assert len(pages) > 15
    tab = new_tab()
    for page in pages:
        tab.open(page)
        assert tab.complaints() == [], names[str(page.with_suffix(""))]


def test_large_hostile_traces_give_a_result_or_one_sentence(tmp_path: Path) -> None:
    """Callbacks that never return, or thousands of partitions of one member, took minutes."""
    names = {str(path): name for name, path in write_all(tmp_path, LARGE).items()}
    wrong = {(names[case["path"]], case["command"]): found for case in ran(tmp_path) if (found := flaws(case))}
    assert wrong == {}
