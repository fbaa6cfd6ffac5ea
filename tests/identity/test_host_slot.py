"""Several processes on one host have different slots, and a crash frees one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client import ConfigError
from membership_client.identity import HostSlot, SlotsTakenError, UnstableIdentityError

PROGRAM = """
import sys
from membership_client.identity import HostSlot
slot = HostSlot("till", directory=sys.argv[1], host="mars")
print(slot.instance_id, flush=True)
sys.stdin.read()
"""


class Holder:
    """A process of its own that holds a slot until it is killed."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-c", PROGRAM, str(directory)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.instance_id = self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    held = Holder(tmp_path)
    yield held
    held.kill()


def slot(directory: Path, slots: int = 3) -> HostSlot:
    return HostSlot("till", directory=directory, host="mars", slots=slots)


def test_each_process_has_a_slot_of_its_own_and_a_crash_frees_it(tmp_path: Path, holder: Holder) -> None:
    """The next one after a SIGKILL is the same to the group."""
    with slot(tmp_path) as ours:
        assert (holder.instance_id, ours.instance_id) == ("till-mars-0", "till-mars-1")
        holder.kill()
        with slot(tmp_path) as successor:
            assert successor.instance_id == "till-mars-0"


def test_two_members_of_one_process_have_two_slots(tmp_path: Path) -> None:
    """And the lowest that was let go is taken next."""
    first, second = slot(tmp_path), slot(tmp_path)
    assert (first.number, second.number) == (0, 1)
    first.close()
    first.close()
    with slot(tmp_path) as third, second:
        assert third.number == 0


def test_no_slot_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Rather than an id that somebody has."""
    with slot(tmp_path, slots=1), pytest.raises(SlotsTakenError, match="All 1 slots of till-mars"):
        slot(tmp_path, slots=1)


def test_a_forked_child_does_not_keep_its_parents_slot(tmp_path: Path) -> None:
    """A worker that outlives the process that forked it would block its successor."""
    ours = slot(tmp_path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"!")
        signal.pause()
    os.read(reading, 1)
    # As a crash does it: nothing is unlocked.
    os.close(ours._file)
    ours._file = -1
    try:
        with slot(tmp_path) as successor:
            assert successor.number == 0
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(writing)
        os.close(reading)


def test_a_slot_that_is_let_go_is_free_also_while_a_child_starts(tmp_path: Path) -> None:
    """The child's copy of the lock lasts for a moment: it does not count."""
    ours = slot(tmp_path)
    copy = os.dup(ours._file)
    ours.close()
    with slot(tmp_path) as successor:
        assert successor.number == 0
    os.close(copy)


@pytest.mark.parametrize("host", ["3f2a9b7c6d1e", "localhost", "web-7d9c5b6f4-x2x7k"])
def test_a_host_that_is_made_up_is_refused(tmp_path: Path, host: str) -> None:
    """A container's, or one that every host has."""
    with pytest.raises(UnstableIdentityError):
        HostSlot("till", directory=tmp_path, host=host)


@pytest.mark.parametrize("host", ["build-srv24", "node-45678", "rack-wkstn"])
def test_a_real_host_may_look_like_a_pod(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own name, and one that is passed: both once were refused; in a pod its own still is."""
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for given in (None, host):
        with HostSlot("till", directory=tmp_path, host=given) as ours:
            assert ours.instance_id == f"till-{host}-0"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    with pytest.raises(UnstableIdentityError, match="random suffix"):
        HostSlot("till", directory=tmp_path)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """With what to pass instead."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/slots cannot be made .* pass directory="):
        HostSlot("till", directory=tmp_path / "file" / "slots", host="mars")
