"""Sizes, directories and descriptors of trace files."""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from membership_client import MemberConfig
from membership_client.core.events import Event
from membership_client.core.member import Member
from membership_client.trace import Journal, TraceError, read_trace, trace_thread
from membership_client.trace.journal import origin
from membership_client.trace.trace_file import TraceFile, open_for_owner, trace_path
from membership_client.trace.values import decode
from membership_client.types import Node, TopicPartition

MEMBER = Member(config=MemberConfig(bootstrap_servers="b:1", group_id="shop"), member_id="m1")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_file_is_put_aside_when_it_has_its_size(tmp_path: Path) -> None:
    """It is rotated after the line that filled it, and not a byte earlier."""
    file = TraceFile(tmp_path / "t", max_bytes=100, keep=1)
    file.begin("h" * 9)
    assert [file.write("x" * 79), file.write("x" * 8), file.write("")] == [False, False, True]
    file.close()
    assert ((tmp_path / "t.1").stat().st_size, (tmp_path / "t").stat().st_size) == (100, 0)


def test_a_long_header_gets_as_much_again_beside_it(tmp_path: Path) -> None:
    """Otherwise each file would have nothing but its header."""
    file = TraceFile(tmp_path / "t", max_bytes=10, keep=1)
    file.begin("h" * 20)
    assert [file.write("x" * 17), file.write("")] == [False, True]
    file.close()


def test_a_file_that_has_its_size_already_is_put_aside_with_the_next_line(tmp_path: Path) -> None:
    """What an earlier process wrote counts, too."""
    (tmp_path / "t").write_text("x" * 99 + "\n")
    file = TraceFile(tmp_path / "t", max_bytes=100, keep=1)
    assert file.write("")
    file.close()


def test_without_any_to_keep_a_full_file_is_deleted(tmp_path: Path) -> None:
    """This is `trace.file.keep` 0."""
    file = TraceFile(tmp_path / "t", max_bytes=10, keep=0)
    assert file.write("x" * 10)
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    assert (tmp_path / "t").read_text() == ""


def test_a_whole_file_is_continued_without_an_empty_line(tmp_path: Path) -> None:
    """Only an incomplete line is ended first."""
    for _ in range(2):
        Journal(MEMBER, TraceFile(tmp_path / "t", max_bytes=10**9, keep=1)).close()
    assert [line[:9] for line in (tmp_path / "t").read_text().splitlines()] == ['{"trace":'] * 2


def test_directories_are_made_if_they_are_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Two members may share a directory, and none of them warns."""
    for name in ("one", "two"):
        TraceFile(tmp_path / "a" / "b" / name, max_bytes=10**9, keep=1).close()
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["one", "two"]
    assert caplog.messages == []


def test_a_disk_that_is_full_at_the_header_ends_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """There is one warning. Lines without a header could not be read."""
    file = TraceFile(tmp_path / "t", max_bytes=100, keep=1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *_: 3)
        file.begin("header")
    assert not file.write("line")
    assert (tmp_path / "t").read_text() == ""
    assert caplog.text.count("cannot be written and ends here") == 1


def test_a_trace_that_cannot_be_written_says_nothing_of_later_lines(tmp_path: Path) -> None:
    """No new file is begun, which would need a header."""
    (tmp_path / "file").write_text("in the way")
    file = TraceFile(tmp_path / "file" / "t", max_bytes=1, keep=1)
    file.begin("header")
    assert not file.write("line")


def test_files_that_are_refused_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These are a file that another member writes, and a file of another user."""
    first = TraceFile(tmp_path / "t", max_bytes=10**9, keep=1)
    before = descriptors()
    TraceFile(tmp_path / "t", max_bytes=10**9, keep=1).close()
    assert descriptors() == before
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="it belongs to another user"):
        open_for_owner(tmp_path / "t", os.O_WRONLY)
    assert descriptors() == before
    first.close()


def test_files_that_are_full_are_closed(tmp_path: Path) -> None:
    """This holds for any number of them."""
    before = descriptors()
    file = TraceFile(tmp_path / "t", max_bytes=1, keep=1)
    for _ in range(10):
        assert file.write("line")
    file.close()
    assert descriptors() == before


def test_a_dot_at_the_start_of_a_name_is_quoted_and_nothing_else_of_it() -> None:
    """The rest of `.hidden` stays readable."""
    assert trace_path("{member}", pid=1, member=".hidden") == Path("%2Ehidden")


@pytest.mark.parametrize(("slot", "part"), [(None, "partition 7"), ("slot 2", "slot 2")])
def test_a_header_names_the_task_of_spark(monkeypatch: pytest.MonkeyPatch, slot: str | None, part: str) -> None:
    """It has the slot, if the integration sets it, and otherwise the partition."""
    task = SimpleNamespace(partitionId=lambda: 7, stageId=lambda: 3, attemptNumber=lambda: 1)
    context = SimpleNamespace(get=lambda: task)
    monkeypatch.setitem(sys.modules, "pyspark", cast("ModuleType", SimpleNamespace(TaskContext=context)))
    if slot is not None:
        monkeypatch.setenv("MEMBERSHIP_CLIENT_SLOT", slot)
    assert origin()["spark"] == f"{part}, stage 3, attempt 1"


def test_a_header_names_the_version_of_python_and_leaves_out_what_is_not_known() -> None:
    """There is no pod outside Kubernetes, and no task outside Spark."""
    header = json.loads(Journal(MEMBER).lines()[0])
    assert header["python"] == platform.python_version()
    assert [key for key, value in header.items() if value is None] == ["instance"]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_is_no_trace(device: str) -> None:
    """Some devices have no end."""
    with pytest.raises(TraceError, match=f"{device} is a device, and not a file"):
        read_trace(device)


def test_steps_that_are_missing_are_told_once(tmp_path: Path) -> None:
    """The lines after the header that says so belong to its run."""
    journal = Journal(MEMBER, TraceFile(tmp_path / "t", max_bytes=10**9, keep=1))
    for value in (object(), 1, 2):
        journal.note("odd", value=value)
    journal.close()
    first, second = read_trace(tmp_path / "t")
    assert (first.dropped, len(first.entries), second.dropped, len(second.entries)) == (0, 0, 1, 2)


class SlowFile(TraceFile):
    """A file on a disk that hangs until the test releases it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, max_bytes=10**9, keep=1)
        self.let_go = threading.Event()

    def write(self, line: str) -> bool:
        assert self.let_go.wait(30)
        return super().write(line)


def test_a_file_that_is_too_slow_is_told_once_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Steps that are missing at its end are counted, too."""
    monkeypatch.setattr(trace_thread, "_MOST_WAITING", 2)
    file = SlowFile(tmp_path / "t")
    journal = Journal(MEMBER, file)
    assert "trace t" in {thread.name for thread in threading.enumerate()}
    with caplog.at_level(logging.WARNING, "membership_client"):
        for number in range(6):
            journal.note("n", number=number)
    assert caplog.text.count("is not written fast enough") == 1
    file.let_go.set()
    journal.close()
    first, last = read_trace(tmp_path / "t")
    assert ([entry["number"] for entry in first.entries], last.dropped, last.entries) == ([0, 1], 4, [])


def test_values_that_the_format_does_not_have_are_refused() -> None:
    """These are None where a value is needed, classes without an entry, and digits of other scripts."""
    with pytest.raises(ValueError, match="unpack"):
        decode(Event, None)
    with pytest.raises(TypeError, match="object has no entry in the trace format"):
        decode(object, 1)
    with pytest.raises(ValueError, match="is no partition"):
        decode(TopicPartition, "orders-\N{ARABIC-INDIC DIGIT THREE}")
    for kind, values in {int: (True, "1", 1.0), bool: (1, "x"), float: (True, "1", 1e300, None)}.items():
        for value in values:
            with pytest.raises((TypeError, ValueError), match=r"where|seconds"):
                decode(kind, value)
    assert decode(Node | str, "x") == "x"
    assert decode(Node | None, None) is None
