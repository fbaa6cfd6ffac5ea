"""`membership-client diagnose`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from membership_client.cli.program import main
from tests.core.play import orders
from tests.diagnose.traces import Recorded, plan, script, sections_of, written
from tests.simulation.script import Shut, Start


def _failing(folder: Path) -> list[str]:
    member = Recorded.named("a").stable(0).told(orders(0, 1))
    member.returns("ValueError: 4111")
    assert isinstance(member, Recorded)
    return [str(path) for path in written([member.section()], folder)]


def _healthy(folder: Path) -> list[str]:
    member = Recorded.named("a").stable(0)
    assert isinstance(member, Recorded)
    return [str(path) for path in written([member.section()], folder)]


def test_a_fault_is_told_with_its_lines_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer in the first line, a summary, then each finding; exit code 1."""
    (path,) = _failing(tmp_path)
    assert main(["diagnose", path]) == 1
    out = capsys.readouterr().out
    answer, _, summary, counts, *_ = out.splitlines()
    assert answer == "The assigned callback of a:7 raised ValueError."
    assert summary.startswith("Group g: 1 member in 1 run, 2027-01-15 08:16:40.000 to 08:16:45.000 UTC")
    assert counts.startswith("1 finding: CALLBACK_FAILED; ")
    assert re.search(rf"{re.escape(path)}:\d+  08:16:45.000  a:7  the assigned callback raised", out)
    assert "Do: Mend the callback." in out


def test_a_healthy_group_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0."""
    assert main(["diagnose", *_healthy(tmp_path)]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out


def test_programs_get_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same exit code."""
    (path,) = _failing(tmp_path)
    assert main(["diagnose", "--json", path]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["diagnosis"] == 1
    assert [group["group"] for group in shown["groups"]] == ["g"]
    (life,) = shown["groups"][0]["lives"]
    assert (life["member"], life["pid"], life["spark"]) == ("a:7", 7, None)
    (finding,) = [finding for finding in shown["findings"] if finding["fault"]]
    assert (finding["kind"], finding["members"], finding["partitions"]) == ("CALLBACK_FAILED", ["a:7"], ["orders-1"])
    assert finding["evidence"][0]["file"] == path


def test_what_is_no_trace_is_a_wrong_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit code 2."""
    (tmp_path / "notes").write_text("hello\n")
    assert main(["diagnose", *_healthy(tmp_path), str(tmp_path / "notes")]) == 2
    assert "not a line of a trace" in capsys.readouterr().err


def test_the_same_file_twice_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pattern may well name it again."""
    (path,) = _failing(tmp_path)
    main(["diagnose", path])
    once = capsys.readouterr().out
    main(["diagnose", path, path])
    assert capsys.readouterr().out == once


def test_a_file_in_which_nothing_was_written_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk leaves one; alone it is said to be empty."""
    (path,) = _failing(tmp_path)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert main(["diagnose", path, str(empty)]) == 1
    assert "CALLBACK_FAILED" in capsys.readouterr().out
    assert main(["diagnose", str(empty)]) == 0
    assert "The traces are empty" in capsys.readouterr().out


def test_the_first_line_alone_is_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--brief` prints nothing else; the exit code is that of the whole diagnosis."""
    (path,) = _failing(tmp_path)
    assert main(["diagnose", path, "--brief"]) == 1
    assert capsys.readouterr().out == f"The assigned callback of a:7 raised ValueError. {_ONE_IS_OPEN}\n"


_ONE_IS_OPEN = "1 trace ends without a close: a:7 was still running then, or was killed."


def test_members_that_may_all_have_been_killed_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing after them proves it, so it is no finding; but "Nothing is wrong" was all that was said."""
    both = [Recorded.named(name).owning(number).section(f"{name}.jsonl") for number, name in enumerate("ab")]
    paths = [str(path) for path in written(both, tmp_path)]
    sentence = (
        "2 traces end without a close: a:7 and b:7 were still running then, or were killed at about the same time."
    )
    assert main(["diagnose", *paths, "--brief"]) == 0
    assert capsys.readouterr().out == f"Nothing is wrong in these traces, as far as they tell. {sentence}\n"
    assert main(["diagnose", *paths]) == 0
    assert capsys.readouterr().out.splitlines()[1] == sentence
    assert main(["diagnose", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["unclosed"] == sentence
    assert main(["diagnose", paths[0], "--brief"]) == 0
    assert capsys.readouterr().out.endswith(f"{_ONE_IS_OPEN}\n")


def test_traces_that_were_closed_or_saved_are_not_called_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace that is saved from memory ends without a close because the member went on."""
    member = Recorded.named("a").owning(0)
    section = member.section()
    saved = replace(section, header={**section.header, "at": member.now + 1.0})
    closed = sections_of(script([plan("b")], [Start(0.0, "b"), Shut(10.0, "b")]))
    for sections in ([saved], closed):
        assert main(["diagnose", *map(str, written(sections, tmp_path)), "--brief"]) == 0
        assert capsys.readouterr().out == "Nothing is wrong in these traces, as far as they tell.\n"
