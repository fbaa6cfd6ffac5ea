"""Hostile trace files and every command that reads traces: a result, or one sentence with the file and the line."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from membership_client.cli.program import main
from membership_client.debugger.model.broker_log import read_broker_logs
from membership_client.partitions import Partitions, count_of
from membership_client.trace.format import PARTITION_FIELDS, RECORDS
from membership_client.trace.reading import MOST_PARTITIONS, LineError, partitions_of
from tests.trace.hostile_traces import HOSTILE, flaws, ran, refuse_constant, write_all
from tests.trace.run_commands import COMMANDS


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("hostile")
    names = {str(path): name for name, path in write_all(folder, HOSTILE).items()}
    found: dict[str, list[dict[str, Any]]] = {}
    for case in ran(folder):
        found.setdefault(names[case["path"]], []).append(case)
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_gives_a_result_or_one_sentence(name: str, cases: Mapping[str, list[dict[str, Any]]]) -> None:
    """There is no traceback and no control character, within 1 GiB; `0-999999999` as partitions once took all memory."""
    assert [case["command"] for case in cases[name]] == list(COMMANDS)
    assert {case["command"]: flaws(case) for case in cases[name] if flaws(case)} == {}


def test_json_is_valid_and_safe_for_terminals(cases: Mapping[str, list[dict[str, Any]]]) -> None:
    """It has no NaN, and escapes in names: a C1 byte in a group's name once reached the terminal."""
    told = [case for found in cases.values() for case in found if "--json" in case["command"] and case["code"] != 2]
    assert len(told) > 10
    for case in told:
        json.loads(case["out"], parse_constant=refuse_constant)
    (escapes,) = [case for case in told if case in cases["escape sequences in group"]]
    assert "\x9b31m" in json.loads(escapes["out"])["groups"][0]["group"]
    for found in cases.values():
        for case in found:
            if "perfetto" in case["command"] and case["code"] == 0:
                json.loads(Path(f"{case['path']}.perfetto").read_text(), parse_constant=refuse_constant)


def test_a_device_is_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """Reading /dev/zero, which has no end, once took all memory."""
    assert main(["diagnose", "/dev/zero"]) == 2
    assert "/dev/zero is a device" in capsys.readouterr().err


def test_a_device_is_no_broker_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The device /dev/zero has no end."""
    trace = tmp_path / "t.jsonl"
    trace.write_text("")
    assert main(["diagnose", str(trace), "--broker-log", "/dev/zero"]) == 2
    assert "/dev/zero is a device" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "[GroupId " * 40_000 + "fenced from the group because",
        "fenced from the group " + "[GroupId " * 40_000,
        "[GroupId g] Member " * 40_000 + "has left group through explicit",
        "fenced from the group" + "x" * (64 << 20),
    ],
    ids=["groups", "groups after words", "members", "no end"],
)
def test_a_broker_log_of_long_lines_is_read_at_once(line: str, tmp_path: Path) -> None:
    """A regular expression that searched for a group once took minutes for one line. The next line is still read."""
    log = tmp_path / "server.log"
    log.write_text(f"{line}\n[GroupId g] Member m fenced from the group because the member session expired.\n")
    (told,) = read_broker_logs([log])
    assert (told.line, told.member_id) == (2, "m")


def test_a_date_that_is_none_does_not_end_a_diagnosis(tmp_path: Path) -> None:
    """A broker's log with the date 2027-13-45 once ended it with a traceback."""
    log = tmp_path / "server.log"
    log.write_text(
        "[2027-13-45 10:00:00,000] INFO [GroupId g] Member m fenced from the group because the member session expired.\n"
    )
    (told,) = read_broker_logs([log])
    assert (told.member_id, told.time) == ("m", None)


def test_partitions_are_counted_without_making_them() -> None:
    """The count is that of the partitions that `numbers_of` would make."""
    assert count_of("0-3,7,999999990-999999999") == 15
    assert count_of("") == 0


def test_a_line_names_no_more_partitions_than_a_report_can_hold() -> None:
    """The limit of a file is ten times that of a line: with it a line of a hundred bytes could take two gigabytes."""
    field = min(PARTITION_FIELDS)
    assert partitions_of([{field: {"t": f"1-{MOST_PARTITIONS}"}}]) == MOST_PARTITIONS == 200_000
    with pytest.raises(LineError, match="names 200001 partitions; the limit is 200000"):
        partitions_of([{field: {"t": f"0-{MOST_PARTITIONS}"}}])


def _parts_of(hint: Any) -> set[Any]:
    return {hint} | {inner for part in typing.get_args(hint) for inner in _parts_of(part)}


def test_the_reader_knows_every_field_that_holds_partitions() -> None:
    """A new field would be read without a limit."""
    fields = {
        name
        for entry in RECORDS.values()
        for name in entry.fields
        if Partitions in _parts_of(typing.get_type_hints(entry.kind)[entry.attribute(name)])
    }
    assert fields - PARTITION_FIELDS == set()
    assert fields
