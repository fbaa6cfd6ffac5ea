"""Whatever a trace says is shown as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.core.events import CallbackKind
from membership_client.types import MemberState
from tests.report.story import Story
from tests.report.tab import Tab

pytestmark = pytest.mark.deep

S = MemberState

BAIT = "</script><img src=x onerror=window.caught=1><script>window.caught=1</script>&lt;\u2028'\"`${caught}"


def hostile_report(folder: Path) -> Path:
    story = Story("m-" + BAIT, group="g-" + BAIT, instance="i-" + BAIT, host="h-" + BAIT)
    story.tell(0.0, S.JOINING, cause="c-" + BAIT).tell(1.0, S.STABLE, epoch=1)
    story.call(2.0, 3.0, CallbackKind.ASSIGNED, {"t-" + BAIT: [0, 1]}, reason="r-" + BAIT)
    story.call(5.0, 6.0, CallbackKind.REVOKED, {"t-" + BAIT: [0]}, error="e-" + BAIT)
    story.note(7.0, "n-" + BAIT, **{"k-" + BAIT: ["v-" + BAIT]})
    story.tell(9.0, S.STABLE)
    path = story.write(folder / "trace.jsonl")
    assert main(["report", str(path), "-o", str(folder / "report.html")]) == 0
    return folder / "report.html"


def test_names_that_look_like_markup_are_shown_as_they_are(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """In the head, in every tip and in the findings; none becomes an element, none runs."""
    tab = new_tab()
    tab.open(hostile_report(tmp_path))
    assert tab.text("#title") == f"Group g-{BAIT}"
    assert tab.ask("document.title") == f"Group g-{BAIT}"
    tab.ask("report.scroll.focus()")
    tab.press("ArrowDown")
    told = []
    for lane in range(3):
        for _ in range(14):
            told.append(tab.ask("document.getElementById('tip').textContent"))
            tab.press("ArrowRight")
        tab.press("ArrowDown")
        assert told[-1], lane
    for prefix in ("i-", "t-", "c-", "r-", "e-", "n-", "k-", "v-"):
        assert any(prefix + BAIT in text for text in told), prefix
    assert f"e-{BAIT}" in tab.ask("document.getElementById('findings').textContent")
    assert tab.ask("[window.caught ?? null, document.images.length, document.scripts.length]") == [None, 0, 2]
    assert tab.complaints() == []


def test_a_script_that_got_into_the_page_would_not_run(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """The page's own policy allows its one program, by its hash, and nothing else."""
    page = hostile_report(tmp_path)
    page.write_text(page.read_text().replace("</body>", "<script>window.caught=1</script></body>"))
    tab = new_tab()
    tab.open(page)
    assert tab.ask("window.caught ?? null") is None
    assert any("Content Security Policy" in complaint for complaint in tab.complaints())
