"""The page in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.core.events import CallbackKind
from membership_client.debugger.report.page import SCRIPTS
from membership_client.types import MemberState
from tests.report.browser import Browser
from tests.report.picture import take
from tests.report.pointing import place_of
from tests.report.story import BEGAN, Story
from tests.report.tab import Tab

pytestmark = pytest.mark.deep

S = MemberState

OWNED = """report.model.partitions.map(
    (lane) => [lane.name, lane.owned.map((span) => [span.start, span.end, span.owner.name])])"""


def shown(tab: Tab) -> tuple[float, float]:
    first, last = tab.ask("[report.view.from, report.view.to]")
    return first, last


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_from_a_file_without_complaints_and_without_a_network(
    new_tab: Callable[..., Tab], known_report: Path, scheme: str
) -> None:
    """No error in the console, no violation of its policy, and nothing is fetched but the file itself."""
    tab = new_tab(scheme=scheme)
    tab.open(known_report)
    assert tab.complaints() == []
    assert tab.requests() == [known_report.as_uri()]


def test_each_partition_has_its_owners(tab: Tab) -> None:
    """From the return of one callback to the return of the other."""
    assert tab.ask(OWNED) == [
        ["orders-0", [[1.5, 31, "one"], [28, 40, "two"]]],
        ["orders-1", [[1.5, 14, "one"], [21, 40, "two"]]],
    ]


def test_times_without_an_owner_and_with_two_are_told(tab: Tab) -> None:
    """In the lane and in the head of the page."""
    gaps = "report.model.partitions.map((lane) => lane.gaps.map((gap) => [gap.start, gap.end]))"
    overlaps = """report.model.partitions.map((lane) => lane.overlaps.map(
        (both) => [both.start, both.end, both.owners.map((owner) => owner.name), both.sure]))"""
    assert tab.ask(gaps) == [[], [[14, 21]]]
    assert tab.ask(overlaps) == [[[28, 31, ["one", "two"], True]], []]
    assert tab.text("#figures").split("\n") == [
        "2", "members", "2", "partitions", "7 s", "longest without owner", "once", "two owners",
    ]  # fmt: skip


def test_a_callback_that_waits_for_the_poll_is_told_apart_from_one_that_runs(tab: Tab) -> None:
    """Wanted at ten, begun at thirteen."""
    tab.mouse("mouseMoved", *place_of(tab, "report.model.members[0].calls[1]"))
    told = tab.text("#tip")
    assert "on_revoked" in told
    assert "of\norders[0]" in told
    assert "waited\n3 s" in told
    assert "ran\n1 s" in told


def test_hovering_tells_the_reason_and_the_absolute_time(tab: Tab) -> None:
    """Local time with its offset, and UTC for the log of another machine."""
    tab.mouse("mouseMoved", *place_of(tab, "report.model.partitions[1].gaps[0]"))
    told = tab.text("#tip")
    assert "orders-1 has no owner" in told
    assert "Last owned by one (group changed: two came in)" in told
    assert "UTC+02:00" in told
    assert "2026-09-21T14:13:34.000Z" in told
    assert BEGAN + 14 == 1_790_000_014


def test_leaving_with_the_pointer_takes_the_tip_away(tab: Tab) -> None:
    """And a click keeps it."""
    at = place_of(tab, "report.model.partitions[1].gaps[0]")
    tab.mouse("mouseMoved", *at)
    tab.mouse("mouseMoved", 700, 5)
    assert tab.ask("document.getElementById('tip').hidden")
    tab.click(*at)
    tab.mouse("mouseMoved", 700, 5)
    assert not tab.ask("document.getElementById('tip').hidden")


def test_the_keyboard_reaches_everything_and_says_it(tab: Tab) -> None:
    """Arrows go through a lane and from lane to lane; what is reached is shown and given to a screen reader."""
    tab.ask("report.scroll.focus()")
    for _ in range(3):
        tab.press("ArrowDown")
    assert tab.ask("report.drawing.selected.lane.name") == "orders-0"
    tab.press("ArrowRight")
    assert tab.ask("report.drawing.selected.kind") in {"overlap", "owned"}
    assert "orders-0" in tab.text("#tip")
    assert "orders-0" in tab.ask("document.getElementById('said').textContent")
    before = shown(tab)
    tab.press("Enter")
    assert shown(tab)[1] - shown(tab)[0] < before[1] - before[0]
    tab.press("Escape")
    assert tab.ask("report.drawing.selected") is None


def test_keys_zoom_and_pan(tab: Tab) -> None:
    """As in other tracing tools, and 0 shows everything again."""
    everything = shown(tab)
    tab.press("w")
    zoomed = shown(tab)
    assert everything[0] < zoomed[0] < zoomed[1] < everything[1]
    tab.press("d")
    assert shown(tab)[0] > zoomed[0]
    tab.press("0")
    assert shown(tab) == pytest.approx(everything)


def test_the_wheel_zooms_at_the_pointer(tab: Tab) -> None:
    """What lies under it stays where it is."""
    x, y = place_of(tab, "report.model.partitions[1].gaps[0]")
    under = f"report.view.t({x} - report.scroll.getBoundingClientRect().x)"
    before, t = shown(tab), tab.ask(under)
    tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300, modifiers=2)
    tab.wait_for(f"report.view.from > {before[0]}")
    assert tab.ask(under) == pytest.approx(t, abs=0.05)


def test_dragging_pans(tab: Tab) -> None:
    """To the left shows what comes later."""
    tab.press("w")
    tab.press("w")
    before = shown(tab)
    tab.drag(900, 300, 700, 300)
    assert shown(tab)[0] > before[0]
    assert tab.ask("report.drawing.selected") is None


def test_two_fingers_zoom(tab: Tab) -> None:
    """Apart is closer."""
    before = shown(tab)
    tab.pinch(700, 300, 100, 300)
    assert shown(tab)[1] - shown(tab)[0] < 0.6 * (before[1] - before[0])


def test_buttons_zoom_and_fit(tab: Tab) -> None:
    """For who has neither wheel nor keys at hand."""
    everything = shown(tab)
    tab.click_on("#zoom-in")
    assert shown(tab)[1] < everything[1]
    tab.click_on("#fit")
    assert shown(tab) == pytest.approx(everything)


def test_a_click_on_a_finding_goes_there(tab: Tab) -> None:
    """Its time is zoomed to, and its lanes are the ones in light."""
    tab.ask(
        "document.querySelectorAll('.finding').forEach((b) => b.textContent.includes('ValueError') && (b.id = 'it'))"
    )
    tab.click_on("#it")
    first, last = shown(tab)
    finding = tab.ask("(({start, end}) => [start, end])(report.findings.current)")
    assert first < finding[0] <= finding[1] < last < 40
    assert "two" in tab.ask("[...report.drawing.focus.lanes].map((lane) => lane.name)")
    assert "shop.py:12" in tab.text("#it")
    tab.click_on("#only")
    assert "one" not in tab.ask("report.lanes.rows.map((row) => row.lane.name)")
    tab.press("Escape")
    assert "one" in tab.ask("report.lanes.rows.map((row) => row.lane.name)")


def test_the_filter_keeps_what_a_name_has_to_do_with(tab: Tab) -> None:
    """A partition keeps the members that ever owned it; a name that nobody has leaves a sentence."""
    tab.press("/")
    tab.type("orders-1")
    names = "report.lanes.rows.map((row) => row.lane.name)"
    assert tab.ask(names) == ["Members", "one", "two", "Partitions", "orders-1"]
    tab.type("nobody")
    assert tab.ask(names) == []
    assert "No member or partition" in tab.text("#nothing")


def test_the_scheme_can_be_chosen(tab: Tab) -> None:
    """Whatever the system has."""
    colour = "report.theme.colours.paper"
    system = tab.ask(colour)
    tab.click_on("#theme")
    tab.click_on("#theme")
    assert tab.text("#theme") == "Dark"
    assert tab.ask(colour) != system


def test_it_prints_in_light_with_all_lanes(new_tab: Callable[..., Tab], known_report: Path) -> None:
    """Also from a dark screen; and afterwards the screen is as it was."""
    tab = new_tab(scheme="dark")
    tab.open(known_report)
    dark = tab.ask("report.theme.colours.paper")
    tab.ask("addEventListener('beforeprint', () => { window.printed = [report.theme.colours.paper, report.height]; })")
    assert tab.printed().startswith(b"%PDF")
    paper, height = tab.ask("window.printed")
    assert paper == "rgb(255, 255, 255)"
    assert height == tab.ask("report.lanes.height")
    assert tab.ask("report.theme.colours.paper") == dark
    assert tab.complaints() == []


def test_it_opens_with_the_answer(tab: Tab) -> None:
    """The first line of `diagnose`; what is no fault is counted apart, and the figure is the number of such findings."""
    faults = tab.ask("report.model.findings.filter((one) => one.severity !== 'info').map((one) => one.kind)")
    assert tab.text("#answer") == tab.ask("report.model.answer")
    assert "had two owners" in tab.text("#answer")
    assert tab.text("#count") == str(len(faults))
    assert faults.count("two owners") == 1


def test_members_that_differ_in_their_process_only_are_told_apart(tab: Tab) -> None:
    """All lanes of dynamic members were called "shop@vm:1…"."""
    lanes = "[...report.model.members, ...report.model.partitions]"
    assert tab.ask(
        f"(report.drawing.font(12, 600), {lanes}.every((lane) => report.drawing.measure(lane.name) < report.drawing.gutterWidth() - 39))"
    )
    long = "report.drawing.fittedEnds('checkout-service-of-the-shop@node-1:' + {}, 150)"
    assert tab.ask(long.format(18727)) != tab.ask(long.format(18730))


@pytest.mark.parametrize("partitions", [2, 300])
def test_it_prints_to_one_page(partitions: int, new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """Whatever is in it: a manager reads one page, and the file has the rest."""
    story = Story("one").tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"orders": list(range(partitions))})
    for at in range(10, 200, 10):
        story.call(at, at + 9, CallbackKind.REVOKED, {"orders": list(range(partitions))}, error="ValueError at load")
    trace = story.tell(300, S.STABLE).write(tmp_path / "trace")
    assert main(["report", str(trace), "-o", str(tmp_path / "report.html")]) == 0
    tab = new_tab()
    tab.open(tmp_path / "report.html")
    assert len(re.findall(rb"/Type\s*/Page\b", tab.printed())) == 1


def test_no_finding_is_cut_off_on_paper(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """The last line of the page was the upper half of one. Those that have no place are left out."""
    for number in range(9):
        story = Story(f"m{number}").tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"orders": [number]})
        story.call(
            9 * number + 10, 9 * number + 18, CallbackKind.REVOKED, {"orders": [number]}, error="ValueError at load"
        )
        story.tell(300, S.STABLE).write(tmp_path / f"trace{number}")
    assert main(["report", *map(str, tmp_path.glob("trace*")), "-o", str(tmp_path / "report.html")]) == 0
    tab = new_tab()
    tab.call("Emulation.setDeviceMetricsOverride", width=1047, height=714, deviceScaleFactor=1, mobile=False)
    tab.open(tmp_path / "report.html")
    tab.call("Emulation.setEmulatedMedia", media="print")
    boxes = "[...document.querySelectorAll('#findings .finding')].map((one) => one.getBoundingClientRect().toJSON())"
    shown = [box for box in tab.ask(boxes) if box["width"] > 0 and box["left"] < 1047]
    assert shown
    assert [box for box in shown if box["bottom"] > 714 or box["right"] > 1048] == []


def test_groups_are_told_apart(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """Members and partitions of two groups of the same names have sections of their own."""
    files = []
    for group in ("shop", "bank"):
        story = Story("one", group=group).tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"orders": [0]})
        files.append(str(story.tell(9, S.STABLE).write(tmp_path / group)))
    assert main(["report", *files, "-o", str(tmp_path / "report.html")]) == 0
    tab = new_tab()
    tab.open(tmp_path / "report.html")
    assert tab.text("#title") == "Group bank, shop"
    assert tab.ask("report.lanes.rows.map((row) => row.lane.name)") == [
        *("Members of bank", "one", "Partitions of bank", "orders-0"),
        *("Members of shop", "one", "Partitions of shop", "orders-0"),
    ]
    assert tab.ask("report.model.partitions.flatMap((lane) => lane.overlaps)") == []


def test_every_asset_is_in_the_page() -> None:
    """A file that was forgotten in the list would be dead weight in the wheel."""
    folder = files("membership_client.debugger.report") / "assets"
    programs = {f"{name}.js" for name in SCRIPTS}
    assert {file.name for file in folder.iterdir()} == programs | {"page.html", "page.css"}


def test_a_figure_leads_to_what_it_counts(tab: Tab) -> None:
    """Where two owners were, with who they are; whatever the filter hides."""
    tab.press("/")
    tab.type("nobody")
    tab.click_on("#figures .bad button")
    first, last = shown(tab)
    assert 20 < first < 28
    assert 31 < last < 40
    told = tab.text("#tip")
    assert "orders-0 has 2 owners at once" in told
    assert "one\nfrom: group changed: joined the group" in told
    assert "two\nfrom: group changed: told so\nuntil: still owned when its trace ends" in told


def test_the_picture_in_the_documents_can_be_made_again(chromium: Browser, tmp_path: Path) -> None:
    """By the command that its module names; and it is small enough for a repository."""
    take(chromium, tmp_path, tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "report.png").stat().st_size < 200_000
