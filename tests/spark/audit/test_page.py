"""What an audit writes: Parquet that any program can read, and a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from membership_client_spark.audit import Audit, AuditSummary, AuditTargetError
from membership_client_spark.audit.summary import BARS, BarChart, Top, render
from membership_client_spark.audit.target import MARK
from tests.report.tab import Tab
from tests.spark.audit.debugger_view import DebuggerView

pytestmark = pytest.mark.deep

TABLES = ("callbacks", "files", "gaps", "overlaps", "ownership", "rebalances", "slots")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def summary(audited: Audit, output: Path) -> AuditSummary:
    return audited.write(output)


def shown(tab: Tab, page: Path) -> Tab:
    tab.call("Page.navigate", url=page.as_uri())
    tab.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")
    return tab


def test_the_summary_says_what_the_debugger_says(summary: AuditSummary, debugger: DebuggerView) -> None:
    """In numbers."""
    runs = debugger.runs()
    assert summary.groups == len({run.group for run in runs})
    assert summary.rebalances == sum(debugger.rebalances().values())
    assert summary.gaps == sum(debugger.gaps().values())
    assert summary.double_owners == sum(count for row, count in debugger.overlaps().items() if row[-1])
    assert summary.partitions == len(debugger.scene.partitions)
    assert summary.failed_callbacks == sum(failed for *_, failed in debugger.callbacks()) > 0


def test_each_table_is_a_folder_of_parquet(summary: AuditSummary, output: Path) -> None:
    """Which needs no Spark to be read."""
    counts = {name: pyarrow.parquet.ParquetDataset(output / name).read().num_rows for name in TABLES}
    assert counts["files"] == summary.files
    assert counts["rebalances"] == summary.rebalances
    assert all(count > 0 for count in counts.values())
    assert {path.name for path in output.iterdir()} == {*TABLES, "index.html", MARK}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_without_complaints_and_without_a_network(
    new_tab: Callable[..., Tab], summary: AuditSummary, output: Path, scheme: str
) -> None:
    """Nor does it need a script."""
    tab = new_tab(scheme=scheme)
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    shown(tab, output / "index.html")
    assert tab.complaints() == []
    assert tab.requests() == [(output / "index.html").as_uri()]
    assert f"{summary.rebalances}\nrebalances" in tab.text("#figures")
    assert tab.ask("document.querySelectorAll('svg rect').length") > 10
    assert "Slowest callbacks" in tab.text("main")


def test_names_out_of_traces_are_text(new_tab: Callable[..., Tab], tmp_path: Path) -> None:
    """The name of a group must not become markup of the page."""
    name = '<script>alert(1)</script>{{tops}}"<img src=x>'
    numbers = dict.fromkeys(AuditSummary.__dataclass_fields__, 1)
    top = Top("Most restarted", "slots", ("group", "restarts"), [(name, 3)])
    page = render(AuditSummary(**numbers), [BarChart("Rebalances", (1.0,) * BARS)], [top])
    (tmp_path / "page.html").write_text(page)
    tab = shown(new_tab(), tmp_path / "page.html")
    assert tab.complaints() == []
    assert tab.text("td") == name


def test_every_table_and_column_is_documented(audited: Audit) -> None:
    """In docs/audit.md, in the order in which they come."""
    page = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
    documented = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \|[^|]+\| ([^|]+) \|$", page, re.MULTILINE)}
    told = {name: re.findall(r"`(\w+)`", re.sub(r"\(.*\)", "", columns)) for name, columns in documented.items()}
    assert told == {name: getattr(audited, name).columns for name in TABLES}


def test_a_directory_with_something_else_in_it_is_refused(audited: Audit, tmp_path: Path) -> None:
    """A user's folder with the name of a table used to be deleted."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "precious").touch()
    with pytest.raises(AuditTargetError, match="is not empty"):
        audited.write(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["files", "precious"]
