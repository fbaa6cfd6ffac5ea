"""Trace files can be read after a kill, are refused with a reason, and never disturb the member."""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from membership_client import ConfigError, GroupMember, MemberConfig
from membership_client.core.events import CallbackReturned, Heartbeat, Subscribe, Tick
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.trace import Journal, TraceError, read_trace
from membership_client.trace.trace_file import TraceFile
from tests.core.play import Play, accepted, orders

CONFIG = MemberConfig(bootstrap_servers="broker:9092", group_id="shop", group_instance_id="till-1")
MEMBER = Member(config=CONFIG, member_id="m1")


def trace_file(path: Path, max_bytes: int = 10**9, keep: int = 3) -> TraceFile:
    return TraceFile(path, max_bytes=max_bytes, keep=keep)


def test_a_header_says_who_and_where(tmp_path: Path) -> None:
    """It has group, member, instance id, host and process, so that the holder of an id at a time can be found."""
    Journal(MEMBER, trace_file(tmp_path / "t")).close()
    (section,) = read_trace(tmp_path / "t")
    assert section.name == "till-1"
    assert (section.header["group"], section.header["member"], section.header["pid"]) == ("shop", "m1", os.getpid())
    assert section.header["host"]
    assert section.wall(section.header["at"] + 5) == section.header["wall"] + 5


@pytest.mark.parametrize(
    ("environment", "pod"),
    [
        ({"POD_NAME": "till-0"}, "till-0"),
        ({"POD_NAME": "till-0", "HOSTNAME": "other", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "till-0"),
        ({"HOSTNAME": "till-1", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "till-1"),
        ({"HOSTNAME": "a-laptop"}, None),
    ],
)
def test_a_header_names_the_pod(environment: dict[str, str], pod: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is that in the manifest, or the host name that Kubernetes gives every container; elsewhere there is none."""
    for name in ("POD_NAME", "HOSTNAME", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert json.loads(Journal(MEMBER).lines()[0]).get("pod") == pod


def test_a_torn_last_line_is_no_error(tmp_path: Path) -> None:
    """A process that is killed while it writes leaves half a line; the lines before it are valid."""
    journal = Journal(MEMBER, trace_file(tmp_path / "t"))
    journal.note("commit", partitions=3)
    journal.close()
    with (tmp_path / "t").open("a") as file:
        file.write('{"at":1.0,"no')
    (section,) = read_trace(tmp_path / "t")
    assert section.torn
    assert [entry["note"] for entry in section.entries] == ["commit"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("hello", "line 1 is not a line of a trace"),
        ("hello\n", "line 1 is not a line of a trace"),
        ('{"at":1.0}\n', "begins with a header"),
        ('{"trace":99}\n', "has version 99, and this program reads version 1"),
    ],
)
def test_what_is_no_trace_is_refused_with_the_reason(content: str, told: str, tmp_path: Path) -> None:
    """A trace of another version is refused with its version."""
    (tmp_path / "t").write_text(content)
    with pytest.raises(TraceError, match=told):
        read_trace(tmp_path / "t")


@pytest.mark.parametrize("content", ["", '{"trace":1,"group":"sh'])
def test_a_file_in_which_nothing_was_written_has_no_runs(content: str, tmp_path: Path) -> None:
    """A full disk, or a kill in the middle of the header, leaves such a file; it was once refused, and all other files with it."""
    (tmp_path / "t").write_text(content)
    assert read_trace(tmp_path / "t") == []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It is refused like any other wrong file."""
    with pytest.raises(TraceError, match="No such file"):
        read_trace(tmp_path / "nothing")


def test_a_restarted_process_continues_the_file(tmp_path: Path) -> None:
    """Two runs in one file are two sections."""
    for _ in range(2):
        Journal(MEMBER, trace_file(tmp_path / "t")).close()
    assert len(read_trace(tmp_path / "t")) == 2


def test_two_members_never_share_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The second member writes to a file beside it, and logs its name."""
    first = trace_file(tmp_path / "t")
    with caplog.at_level(logging.WARNING, "membership_client"):
        second = trace_file(tmp_path / "t")
    assert second.path == tmp_path / f"t.pid{os.getpid()}"
    assert str(second.path) in caplog.text
    first.close()
    second.close()


def test_rotation_keeps_so_many_and_no_more(tmp_path: Path) -> None:
    """A trace never fills the disk."""
    journal = Journal(MEMBER, trace_file(tmp_path / "t", max_bytes=10_000, keep=2))
    for number in range(2000):
        journal.note("commit", number=number)
    journal.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t", "t.1", "t.2"]
    numbers = [e["number"] for name in ("t.2", "t.1", "t") for s in read_trace(tmp_path / name) for e in s.entries]
    assert numbers == list(range(numbers[0], 2000))


def test_a_header_that_is_longer_than_a_file_may_be_is_written_all_the_same(tmp_path: Path) -> None:
    """A subscription of many topics makes it that long: once each new file was rotated at once, and the next one had no header."""
    topics = frozenset(f"a-topic-with-a-long-name-{number}" for number in range(600))
    journal = Journal(
        replace(MEMBER, subscription=Subscribe(topics=topics)), trace_file(tmp_path / "t", max_bytes=10_000, keep=99)
    )
    for number in range(2000):
        journal.note("commit", number=number)
    journal.close()
    files = sorted(tmp_path.iterdir(), key=lambda path: -int(path.suffix[1:] or 0))
    sections = [section for path in files for section in read_trace(path)]
    assert len(sections) == len(files) > 1
    assert [entry["number"] for section in sections for entry in section.entries] == list(range(2000))
    assert max(len(section.entries) for section in sections) > 100


def test_half_a_line_that_a_full_disk_took_ends_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the next line continued it, and the whole file could not be read any more."""
    journal = Journal(MEMBER, trace_file(tmp_path / "t"))
    journal.note("commit", number=1)
    assert journal.flush()
    whole = os.write
    monkeypatch.setattr(os, "write", lambda file, content: whole(file, content[: len(content) // 2]))
    journal.note("commit", number=2)
    assert journal.flush()
    monkeypatch.undo()
    journal.note("commit", number=3)
    journal.close()
    (section,) = read_trace(tmp_path / "t")
    assert ([entry["number"] for entry in section.entries], section.torn) == ([1], True)


def test_a_disk_that_fails_ends_the_trace_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """There is one warning, and the member goes on."""
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING, "membership_client"):
        journal = Journal(MEMBER, trace_file(tmp_path / "file" / "t"))
        journal.note("commit")
    assert len(caplog.messages) == 1
    assert "ends here" in caplog.text


def test_names_are_filled_in(tmp_path: Path) -> None:
    """So one configuration serves all processes."""
    template = str(tmp_path / "{group}-{instance}-{pid}.jsonl")
    config = MemberConfig(bootstrap_servers="127.0.0.1:1", group_id="shop", group_instance_id="a", trace_file=template)
    GroupMember(config).close()
    assert len(read_trace(tmp_path / f"shop-a-{os.getpid()}.jsonl")) == 1


@pytest.mark.parametrize(
    ("key", "value"), [("trace.file.max.bytes", 5), ("trace.file.keep", -1), ("trace.file", ""), ("trace.file", "{x}")]
)
def test_settings_that_cannot_work_are_refused(key: str, value: object) -> None:
    """They are refused when the member is made."""
    with pytest.raises(ConfigError, match=key):
        MemberConfig.from_dict({"bootstrap.servers": "b:1", "group.id": "g", key: value})


def test_a_callbacks_error_is_redacted_in_the_trace() -> None:
    """Its message may quote a record; its type and stack are kept. This holds for the trace in memory, too."""
    journal = Journal(MEMBER)
    journal.on_step(Step(1.0, MEMBER, CallbackReturned(7, "ValueError: 4111 1111"), (), MEMBER))
    assert "4111" not in "".join(journal.lines())
    assert json.loads(journal.lines()[1])["event"]["error"] == "ValueError"


def test_a_clock_that_jumps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the trace once. A machine that slept shows only in the time of day."""
    journal = Journal(MEMBER)
    before = time.time
    monkeypatch.setattr(time, "time", lambda: before() + 60)
    for _ in range(2):
        journal.on_step(Step(1.0, MEMBER, Tick(), (), MEMBER))
    jumped = [json.loads(line).get("jumped") for line in journal.lines()[1:]]
    assert jumped == [pytest.approx(60, abs=0.5), None]


@pytest.mark.parametrize("policy", ["raise", "leave"])
def test_no_field_of_a_trace_quotes_a_callbacks_message(policy: str) -> None:
    """Problem, cause, and the member in the next file's header once did."""
    play = Play.new(callback_errors=policy).joining()
    journal = Journal(play.member)
    for act in (
        lambda: play.answer(Heartbeat, accepted(2, orders(0))),
        play.name_topics,
        lambda: play.returns(
            error='Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: Alice owes 5'
        ),
    ):
        before, taken = play.member, len(play.effects)
        act()
        journal.on_step(Step(play.now, before, Tick(), tuple(play.effects[taken:]), play.member))
    later = Journal(play.member)
    assert "Alice" not in "".join([*journal.lines(), *later.lines()])
    assert "ValueError" in "".join(journal.lines())
