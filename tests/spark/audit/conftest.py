"""One audit for all tests of this folder: a small fleet, groups in trouble, and damaged files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.model.timeline import groups_of
from membership_client.trace import Section
from membership_client_spark import audit
from membership_client_spark.audit import Audit
from tests.diagnose.traces import read_all, sections_of, written
from tests.report.conftest import chromium, new_tab  # noqa: F401 - the page is looked at as reports are
from tests.simulation.generate import script_of
from tests.spark.audit.debugger_view import SKEW_S, DebuggerView
from tests.spark.audit.fleet import write_fleet
from tests.spark.audit.messy import Messy, make_a_mess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEEDS = (*range(8), 12)
"""In the last one a static member leaves for a while and does not come back."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


@pytest.fixture(scope="session")
def traces(folder: Path) -> list[Path]:
    """What the debugger reads too: thirty members in three groups of one day, and nine groups in trouble."""
    in_trouble = [
        replace(
            section,
            header=section.header | {"group": f"trouble-{seed}"},
            entries=[waited_for_a_poll(entry) for entry in section.entries],
        )
        for seed in _SEEDS
        for section in sections_of(script_of(seed))
    ]
    return [*write_fleet(folder, members=30, hours=0.2), *written([*in_trouble, *ended_by_errors()], folder)]


def ended_by_errors() -> list[Section]:
    """A group whose members leave because an error has ended them, and not because they are closed."""
    return [
        replace(
            section,
            header=section.header | {"group": "ended"},
            entries=[
                entry | {"state": "FATAL"} if entry.get("state") == "LEAVING" else entry for entry in section.entries
            ],
        )
        for section in sections_of(script_of(1))
    ]


def waited_for_a_poll(entry: dict[str, Any]) -> dict[str, Any]:
    """A callback that returned, as a consumer's: wanted all the time, begun at last, and quick."""
    event = entry.get("event") or {}
    returned = event.get("is") == "CallbackReturned"
    return entry | {"event": event | {"began_at": entry["at"]}} if returned else entry


@pytest.fixture(scope="session")
def messy(folder: Path, traces: list[Path]) -> Messy:
    """Beside the traces, in the same folder."""
    return make_a_mess(folder, traces)


@pytest.fixture(scope="session")
def debugger(traces: list[Path], messy: Messy) -> DebuggerView:
    """What the debugger says of the files that it can read."""
    sections = read_all([*traces, *messy.readable])
    return DebuggerView(groups_of(sections, SKEW_S), compose(sections, SKEW_S))


@pytest.fixture(scope="session")
def audited(spark: SparkSession, folder: Path, messy: Messy) -> Audit:
    quick = spark.newSession()
    # So little data does not repay code that is made for it.
    quick.conf.set("spark.sql.codegen.wholeStage", value=False)
    quick.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return audit(quick, folder, skew_s=SKEW_S)
