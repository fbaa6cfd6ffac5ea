"""The thread that writes a trace: files that hang, errors, and texts that cannot be encoded never affect the member."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from membership_client import GroupMember, MemberConfig
from membership_client.cli.program import main
from membership_client.core.events import Tick
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.partitions import counted
from membership_client.trace import Journal, read_trace, trace_thread
from membership_client.trace.trace_file import TraceFile, trace_path
from membership_client.trace.trace_thread import Backlog

CONFIG = MemberConfig(bootstrap_servers="127.0.0.1:1", group_id="shop", group_instance_id="till-1")
MEMBER = Member(config=CONFIG, member_id="m1")
TICK = Step(1.0, MEMBER, Tick(), (), MEMBER)


def new_file(path: Path) -> TraceFile:
    return TraceFile(path, max_bytes=10**9, keep=1)


def wait_for(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe from which no process reads."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_backlog_counts_what_did_not_fit() -> None:
    """The count goes once to the next entry that fits."""
    backlog = Backlog(2)
    assert [backlog.admit() for _ in range(5)] == [True, True, False, False, False]
    backlog.wrote()
    assert (backlog.waiting, backlog.admit(), backlog.take_dropped(), backlog.take_dropped()) == (1, True, 3, 0)


def test_a_pipe_that_nobody_reads_holds_up_no_step(pipe: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Steps were once written on the membership thread, which then sent no heartbeats. A close is bounded, too."""
    journal = Journal(MEMBER, new_file(pipe))
    done = threading.Event()

    def record() -> None:
        for _ in range(2000):
            journal.on_step(TICK)
        done.set()

    threading.Thread(target=record, daemon=True).start()
    assert done.wait(30)
    (writer,) = [thread for thread in threading.enumerate() if thread.name == "trace pipe"]
    assert writer.daemon, "a process can end although it hangs"
    with caplog.at_level(logging.WARNING, "membership_client"):
        journal.close()
    assert "lacks its last" in caplog.text


def test_steps_that_were_dropped_are_told(
    pipe: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trace has a new header, from which a replay goes on; replay, diagnose and the log say it, too."""
    monkeypatch.setattr(trace_thread, "_MOST_WAITING", 600)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    journal = Journal(MEMBER, new_file(pipe))
    with caplog.at_level(logging.WARNING, "membership_client"):
        for number in range(3000):
            journal.on_step(Step(100.0 + number, MEMBER, Tick(), (), MEMBER))
    assert caplog.text.count("not written fast enough") >= 1
    written = []

    def read() -> bool:
        with open(reader, "rb", closefd=False) as file:
            written.append(file.read() or b"")
        return journal.flush(0.01)

    wait_for(read)
    journal.on_step(Step(5000.0, MEMBER, Tick(), (), MEMBER))
    wait_for(read)
    journal.close()
    read()
    os.close(reader)
    copy = pipe.with_name("copy.jsonl")
    copy.write_bytes(b"".join(written))
    sections = read_trace(copy)
    assert len(sections) > 1
    assert sum(len(section.entries) + section.dropped for section in sections) == 3001
    assert main(["replay", str(copy)]) == 0
    missing = sections[-1].dropped
    assert f"{counted(missing, 'step')} before it {'is' if missing == 1 else 'are'} missing" in capsys.readouterr().out
    main(["diagnose", str(copy)])
    assert re.search(
        rf"\b{counted(missing, 'step')} of till-1 (is|are) missing before {copy}:", capsys.readouterr().out
    )
    main(["diagnose", "--json", str(copy)])
    (life,) = json.loads(capsys.readouterr().out)["groups"][0]["lives"]
    assert life["dropped"] == sum(section.dropped for section in sections)


def test_text_that_cannot_be_encoded_does_not_end_the_recorder(tmp_path: Path) -> None:
    """A lone surrogate, as in a file name that is no UTF-8, once raised on the membership thread."""
    journal = Journal(MEMBER, new_file(tmp_path / "t"))
    journal.note("warning", thread="\udc80")
    journal.note("after")
    journal.close()
    journal.save(tmp_path / "saved")
    for name in ("t", "saved"):
        (section,) = read_trace(tmp_path / name)
        assert [entry["note"] for entry in section.entries] == ["warning", "after"]


def test_a_value_without_a_form_is_left_out_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """NaN would make the whole file unreadable, and objects of other classes cannot be written."""
    journal = Journal(MEMBER, new_file(tmp_path / "t"))
    journal.note("odd", value=float("nan"))
    journal.note("odd", value=object())
    journal.note("after")
    journal.close()
    first, second = read_trace(tmp_path / "t")
    assert (first.entries, second.dropped, second.entries[0]["note"]) == ([], 2, "after")
    assert "A step is missing" in caplog.text


def test_a_thread_that_cannot_start_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The system may have no thread for a while; entries wait meanwhile. If it never has one, a close says so."""

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        journal, late = (Journal(MEMBER, new_file(tmp_path / name)) for name in ("t", "late"))
        assert not journal.flush(0.0), "its header is not written"
        for one in (journal, late):
            one.note("one")
            assert not one.flush(0.0)
        never = Journal(MEMBER, new_file(tmp_path / "never"))
        never.note("one")
        never.close()
    assert "never lacks its last 1 steps" in caplog.text
    journal.note("two")
    assert journal.flush()
    for one, name, notes in ((journal, "t", ["one", "two"]), (late, "late", ["one"])):
        one.close()
        (section,) = read_trace(tmp_path / name)
        assert [entry["note"] for entry in section.entries] == notes


def test_a_journal_that_was_forgotten_leaves_no_thread(tmp_path: Path) -> None:
    """Its member was never closed: the file is written and closed."""
    journal = Journal(MEMBER, new_file(tmp_path / "forgotten"))
    del journal
    wait_for(lambda: gc.collect() >= 0 and "trace forgotten" not in {thread.name for thread in threading.enumerate()})
    assert len(read_trace(tmp_path / "forgotten")) == 1


def test_everything_is_written_when_the_interpreter_ends(tmp_path: Path) -> None:
    """This holds even without a close: the member closes at exit, and its trace with it."""
    program = (
        "import sys, membership_client\n"
        "config = {'bootstrap.servers': '127.0.0.1:1', 'group.id': 'g', 'trace.file': sys.argv[1]}\n"
        "member = membership_client.GroupMember(config)\n"
        "member.subscribe(['orders'])\n"
        "for number in range(3000): member.trace.note('n', number=number)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "t")], check=True, timeout=60)
    (section,) = read_trace(tmp_path / "t")
    assert [entry["number"] for entry in section.entries if "number" in entry] == list(range(3000))
    assert section.entries[-1]["effects"] == [{"is": "Stop"}]


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    """All users could once read them; this includes rotated and saved files. An existing file keeps its mode."""
    journal = Journal(MEMBER, TraceFile(tmp_path / "t", max_bytes=10_000, keep=2))
    for number in range(500):
        journal.note("commit", number=number)
    journal.close()
    journal.save(tmp_path / "saved")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("t", "t.1", "t.2", "saved"), 0o600)
    assert [section.dropped for name in modes for section in read_trace(tmp_path / name)] == [0] * 4


def test_a_symbolic_link_is_not_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A user who may write to the directory could otherwise make a member append to any file of its user."""
    (tmp_path / "victim").write_text("mine\n")
    (tmp_path / "t").symlink_to(tmp_path / "victim")
    journal = Journal(MEMBER, new_file(tmp_path / "t"))
    journal.note("commit")
    journal.close()
    assert (tmp_path / "victim").read_text() == "mine\n"
    assert "it is a symbolic link, which is not followed" in caplog.text


def test_a_saved_trace_follows_no_symbolic_link(tmp_path: Path) -> None:
    """A user who may write to the directory could otherwise make a program empty any file of its user."""
    (tmp_path / "victim").write_text("mine\n")
    (tmp_path / "saved").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic link, which is not followed"):
        Journal(MEMBER).save(tmp_path / "saved")
    assert (tmp_path / "victim").read_text() == "mine\n"


def test_a_link_that_was_put_there_just_now_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link appears between the check and the opening."""
    (tmp_path / "saved").symlink_to(tmp_path / "victim")
    monkeypatch.setattr(Path, "is_symlink", lambda _: False)
    with pytest.raises(OSError, match="symbolic links"):
        Journal(MEMBER).save(tmp_path / "saved")
    assert not (tmp_path / "victim").exists()


def test_another_users_pipe_is_written(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So are /dev/stderr and /dev/null: the user who made them does not own what is written to them."""
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    file = new_file(pipe)
    file.begin("header")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(reader, 100) == b"header\n"
    os.close(reader)
    file.close()


def test_another_users_file_is_neither_written_nor_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who put it there could read what is written to it."""
    (tmp_path / "t").write_text("theirs\n")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    journal = Journal(MEMBER, new_file(tmp_path / "t"))
    with pytest.raises(PermissionError, match="belongs to another user"):
        journal.save(tmp_path / "t")
    journal.close()
    assert (tmp_path / "t").read_text() == "theirs\n"


def test_a_saved_trace_replaces_an_earlier_one(tmp_path: Path) -> None:
    """It replaces all of a longer one, too; a pipe works as well."""
    (tmp_path / "saved").write_text("x" * 100_000)
    Journal(MEMBER).save(tmp_path / "saved")
    (section,) = read_trace(tmp_path / "saved")
    assert not section.torn
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    Journal(MEMBER).save(tmp_path / "pipe")
    assert os.read(reader, 1 << 20).startswith(b'{"trace":')
    os.close(reader)


def test_what_is_no_file_is_never_put_aside(pipe: Path) -> None:
    """A pipe, or /dev/null, was once renamed when it had got that many bytes."""
    file = TraceFile(pipe, max_bytes=10, keep=1)
    assert not file.write("x" * 100)
    file.close()
    assert [path.name for path in pipe.parent.iterdir()] == ["pipe"]


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", "..", ".", "/etc/x", "..\\x", "a\0b", "\ud800", "a\x1b"])
@pytest.mark.parametrize("template", ["{group}", "{group}.jsonl", "{group}{instance}", "{group}/{member}"])
def test_names_cannot_leave_the_directory(name: str, template: str, tmp_path: Path) -> None:
    """The trace of a group named `../../etc/x` was once written there."""
    path = trace_path(f"{tmp_path}/{template}", pid=1, group=name, member=name, instance=name)
    depth = template.count("/") + 1
    assert Path(os.path.normpath(path)).parents[depth - 1] == tmp_path
    assert path.name.isprintable()


def test_names_stay_apart_and_readable() -> None:
    """Two groups never share a file because of quoted letters, and usual names are not changed."""
    names = ["a/b", "a%2Fb", "a_b", "shop-1.eu", "käse", "a b"]
    paths = [trace_path("{group}", pid=1, group=name) for name in names]
    assert list(map(str, paths)) == ["a%2Fb", "a%252Fb", "a_b", "shop-1.eu", "käse", "a b"]


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A child that outlived its parent once kept the file locked, so the restarted parent wrote to another file."""
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "trace.file": str(tmp_path / "t")}
    member = GroupMember(config)
    ready, wait = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"x")
        os.read(wait[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        member.close()
        again = new_file(tmp_path / "t")
        assert again.path == tmp_path / "t"
        again.close()
    finally:
        os.write(wait[1], b"x")
        os.waitpid(child, 0)
        for end in (*ready, *wait):
            os.close(end)
