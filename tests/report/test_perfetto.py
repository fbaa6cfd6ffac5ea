"""The file for Perfetto."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from membership_client.cli.program import main
from tests.report.simulated import traces
from tests.report.story import BEGAN, known_run

Event = dict[str, Any]


def events_of(paths: list[Path], folder: Path) -> list[Event]:
    out = folder / "report.json"
    assert main(["report", *map(str, paths), "--format", "perfetto", "-o", str(out)]) == 0
    events: list[Event] = json.loads(out.read_text())["traceEvents"]
    return events


@pytest.fixture
def known(tmp_path: Path) -> list[Event]:
    return events_of(known_run(tmp_path), tmp_path)


def named(events: list[Event]) -> dict[tuple[int, int], str]:
    """Processes as (pid, 0), threads as (pid, tid)."""
    return {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] in {"process_name", "thread_name"}
    }


@pytest.fixture(scope="module", params=range(12))
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    folder = tmp_path_factory.mktemp("traces")
    return events_of(traces(request.param, folder), folder)


def test_every_event_has_what_the_format_demands(simulated: list[Event]) -> None:
    """Fields by the kind of event, times as whole microseconds, and a name for every process and thread."""
    names = named(simulated)
    for event in simulated:
        assert {"ph", "name", "pid", "tid", "args"} <= event.keys()
        assert event["ph"] in {"M", "X", "i"}
        assert (event["pid"], 0) in names
        if event["ph"] == "M":
            continue
        assert (event["pid"], event["tid"]) in names
        assert isinstance(event["ts"], int)
        assert event["ts"] > 0
        assert event["ph"] != "X" or event["dur"] >= 0
        assert event["ph"] != "i" or event["s"] in {"t", "p", "g"}


def test_what_lies_on_one_thread_is_nested_or_apart(simulated: list[Event]) -> None:
    """Perfetto drops what is interleaved."""
    threads = defaultdict(list)
    for event in simulated:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for spans in threads.values():
        for (began, ended), (start, end) in itertools.combinations(sorted(spans), 2):
            assert start >= ended or (began <= start and end <= ended) or (start <= began and ended <= end)


def test_members_are_processes_and_partitions_their_threads(known: list[Event]) -> None:
    """With a process more for what no member has."""
    names = named(known)
    assert [name for (_, tid), name in sorted(names.items()) if tid == 0] == [
        "one",
        "two",
        "group g: no owner, two owners",
    ]
    threads = {name for (pid, tid), name in names.items() if pid == 1 and tid}
    assert threads == {"state", "callbacks", "silent", "orders-0", "orders-1"}


def test_the_wait_for_a_poll_lies_inside_its_callback(known: list[Event]) -> None:
    """Beside the part in which it ran."""
    spans = {event["name"]: event for event in known if event["ph"] == "X" and event["pid"] == 1}
    revoked, waits, runs = spans["on_revoked"], spans["waits for a poll"], spans["runs"]
    assert waits["ts"] == revoked["ts"] == round((BEGAN + 10) * 1e6)
    assert waits["dur"] == 3_000_000
    assert runs["dur"] == 1_000_000
    assert waits["dur"] + runs["dur"] == revoked["dur"]


def test_gaps_and_two_owners_have_their_own_lanes(known: list[Event]) -> None:
    """With who owned it."""
    trouble = [
        (event["name"], event["dur"], event["args"]) for event in known if event["pid"] == 3 and event["ph"] == "X"
    ]
    assert [(name, dur) for name, dur, _ in trouble] == [("2 owners", 3_000_000), ("no owner", 7_000_000)]
    assert trouble[0][2]["owners"] == ["one", "two"]


def test_fences_failures_and_warnings_are_instants(known: list[Event]) -> None:
    """On the thread of the member's states."""
    kinds = [event["args"]["kind"] for event in known if event["ph"] == "i"]
    assert sorted(kinds) == ["failure", "fence", "warning"]
