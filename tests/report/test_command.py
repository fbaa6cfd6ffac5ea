"""`membership-client report`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.types import MemberState
from tests.report.story import Story, known_run


def test_the_report_is_written_and_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that says where, and exit code 0."""
    report = tmp_path / "out.html"
    assert main(["report", *map(str, known_run(tmp_path)), "-o", str(report)]) == 0
    assert f"{report}: 2 members, 2 partitions" in capsys.readouterr().out
    assert report.read_text().startswith("<!doctype html>")


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Patterns overlap."""
    one, two = map(str, known_run(tmp_path))
    assert main(["report", one, two, one, "-o", str(tmp_path / "out.html")]) == 0
    assert "2 members" in capsys.readouterr().out


def test_without_a_name_it_lies_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """report.html, or report.json for Perfetto."""
    monkeypatch.chdir(tmp_path)
    paths = [str(path) for path in known_run(tmp_path)]
    assert main(["report", *paths]) == 0
    assert main(["report", *paths, "--format", "perfetto"]) == 0
    assert Path("report.html").exists()
    assert Path("report.json").exists()


@pytest.mark.parametrize("text", ["hello\n", "hello"])
def test_what_is_no_trace_is_a_wrong_command(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit code 2, and nothing is written."""
    (tmp_path / "notes").write_text(text)
    assert main(["report", str(tmp_path / "notes"), "-o", str(tmp_path / "out.html")]) == 2
    assert str(tmp_path / "notes") in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit code 2."""
    report = tmp_path / "missing" / "out.html"
    assert main(["report", *map(str, known_run(tmp_path)), "-o", str(report)]) == 2
    assert "missing" in capsys.readouterr().err


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
@pytest.mark.parametrize("which", ["trace", "broker log"])
def test_a_report_never_overwrites_what_it_is_made_from(
    which: str, link: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`report good.jsonl -o good.jsonl` replaced the trace by HTML; the same for a broker's log, and through links."""
    trace, log = known_run(tmp_path)[0], tmp_path / "server.log"
    log.write_text("a line of the broker\n")
    target = trace if which == "trace" else log
    output = target if link is None else tmp_path / "out.html"
    if link is not None:
        getattr(output, link)(target)
    before = target.read_bytes()
    assert main(["report", str(trace), "--broker-log", str(log), "-o", str(output)]) == 2
    assert f"The report would overwrite {target}" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_a_trace_in_which_nothing_happened_gives_an_empty_report(tmp_path: Path) -> None:
    """A member was created and never subscribed; the page says so and draws nothing."""
    header = known_run(tmp_path)[0].read_text().splitlines()[0]
    (tmp_path / "idle").write_text(header + "\n")
    assert main(["report", str(tmp_path / "idle"), "-o", str(tmp_path / "out.html")]) == 0
    assert "<title>No group</title>" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize("form", ["html", "perfetto"])
def test_a_new_report_is_for_its_owner_alone(form: str, tmp_path: Path) -> None:
    """It holds what the traces hold: names of hosts, groups and topics, and texts of exceptions."""
    report = tmp_path / "out"
    assert main(["report", *map(str, known_run(tmp_path)), "-o", str(report), "--format", form]) == 0
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_a_report_does_not_follow_a_symbolic_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another user may have put it into a directory that all may write to."""
    target, report = tmp_path / "precious", tmp_path / "out.html"
    target.write_text("precious")
    report.symlink_to(target)
    assert main(["report", *map(str, known_run(tmp_path)), "-o", str(report)]) == 2
    assert f"{report} cannot be written: it is a symbolic link, which is not followed." in capsys.readouterr().err
    assert target.read_text() == "precious"


def test_a_shorter_report_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    """The file is cut to its new length."""
    report = tmp_path / "out.html"
    report.write_text("x" * 2_000_000)
    assert main(["report", *map(str, known_run(tmp_path)), "-o", str(report)]) == 0
    assert report.read_text().rstrip().endswith("</html>")


def test_report_and_diagnosis_count_the_same_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two processes under one instance id have two lanes, and are one member."""
    for number, host in enumerate(["h1", "h2"]):
        story = Story(f"m{number}", instance="till", host=host).tell(0.0, MemberState.JOINING)
        story.tell(1.0, MemberState.STABLE, epoch=1).tell(9.0, MemberState.STABLE).write(tmp_path / host)
    paths = [str(tmp_path / "h1"), str(tmp_path / "h2")]
    main(["diagnose", *paths])
    assert "Group g: 1 member in 2 runs" in capsys.readouterr().out
    main(["report", *paths, "-o", str(tmp_path / "out.html")])
    assert ": 1 member, " in capsys.readouterr().out
    assert '"memberCount":1,' in (tmp_path / "out.html").read_text().replace(" ", "")
