"""Several processes on one host have different slots, and a crash frees a slot."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
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
    """A process that holds a slot until it is killed."""

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


def open_files() -> int:
    """The number of open descriptors of this process, after a garbage collection."""
    gc.collect()
    return sum(1 for _ in Path("/dev/fd").iterdir())


def without_locks(descriptor: int, operation: int) -> None:
    """Makes `flock` fail as on a file system without locks."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_each_process_has_a_slot_of_its_own_and_a_crash_frees_it(tmp_path: Path, holder: Holder) -> None:
    """The group recognises the next process after a SIGKILL as the same member."""
    with slot(tmp_path) as ours:
        assert (holder.instance_id, ours.instance_id) == ("till-mars-0", "till-mars-1")
        holder.kill()
        with slot(tmp_path) as successor:
            assert successor.instance_id == "till-mars-0"


def test_two_members_of_one_process_have_two_slots(tmp_path: Path) -> None:
    """The lowest released slot is taken next."""
    first, second = slot(tmp_path), slot(tmp_path)
    assert (first.number, second.number) == (0, 1)
    first.close()
    first.close()
    with slot(tmp_path) as third, second:
        assert third.number == 0


def test_no_slot_is_an_error_that_says_so(tmp_path: Path) -> None:
    """The process does not get an id that another process has."""
    with slot(tmp_path, slots=1), pytest.raises(SlotsTakenError, match="All 1 slots of till-mars"):
        slot(tmp_path, slots=1)


def test_a_forked_child_does_not_keep_its_parents_slot(tmp_path: Path) -> None:
    """A worker that outlives the process that forked it would otherwise block the successor of that process."""
    ours = slot(tmp_path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"!")
        signal.pause()
    os.read(reading, 1)
    # As a crash does it: nothing is unlocked.
    assert ours._file is not None
    os.close(ours._file)
    ours._file = None
    try:
        with slot(tmp_path) as successor:
            assert successor.number == 0
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(writing)
        os.close(reading)


def test_a_slot_that_is_let_go_is_free_also_while_a_child_starts(tmp_path: Path) -> None:
    """The child has a copy of the lock for a moment, which does not count."""
    ours = slot(tmp_path)
    assert ours._file is not None
    copy = os.dup(ours._file)
    ours.close()
    with slot(tmp_path) as successor:
        assert successor.number == 0
    os.close(copy)


@pytest.mark.parametrize("host", ["3f2a9b7c6d1e", "localhost", "web-7d9c5b6f4-x2x7k"])
def test_a_host_that_is_made_up_is_refused(tmp_path: Path, host: str) -> None:
    """The name is that of a container, or one that every host has."""
    with pytest.raises(UnstableIdentityError):
        HostSlot("till", directory=tmp_path, host=host)


@pytest.mark.parametrize("host", ["build-srv24", "node-45678", "rack-wkstn"])
def test_a_real_host_may_look_like_a_pod(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both its own name and a given name were once refused; in a pod its own name still is."""
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for given in (None, host):
        with HostSlot("till", directory=tmp_path, host=given) as ours:
            assert ours.instance_id == f"till-{host}-0"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    with pytest.raises(UnstableIdentityError, match="random suffix"):
        HostSlot("till", directory=tmp_path)
    with HostSlot("till", directory=tmp_path, host=host) as ours:
        assert ours.host == host


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """The error says which argument to pass instead."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/slots cannot be made .* pass directory="):
        HostSlot("till", directory=tmp_path / "file" / "slots", host="mars")


@pytest.mark.parametrize(
    ("name", "host", "slots"), [("", "mars", 3), ("till", "mars", 0), ("till", "mars", -1), ("till", "my host", 3)]
)
def test_no_legal_name_or_no_slots_is_refused_before_anything_is_made(
    tmp_path: Path, name: str, host: str, slots: int
) -> None:
    """An empty name once gave `-mars-0`, which every other program without a name has, too."""
    with pytest.raises(ConfigError):
        HostSlot(name, directory=tmp_path / "slots", host=host, slots=slots)
    assert not (tmp_path / "slots").exists()


def test_no_other_user_can_open_what_is_locked(tmp_path: Path) -> None:
    """Another user who can read a file can also lock it, and so keep the slot from its process."""
    with slot(tmp_path / "slots"):
        assert (tmp_path / "slots").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "slots" / "till-mars-0.lock").stat().st_mode & 0o777 == 0o600


def test_files_of_an_earlier_release_are_closed_to_others(tmp_path: Path) -> None:
    """Every user could read them."""
    file = tmp_path / "till-mars-0.lock"
    file.touch()
    file.chmod(0o644)
    with slot(tmp_path) as ours:
        assert ours.number == 0
        assert file.stat().st_mode & 0o777 == 0o600


def _symlink(path: Path) -> None:
    (path.parent / "precious").write_text("precious")
    path.symlink_to(path.parent / "precious")


@pytest.mark.parametrize("make", [_symlink, Path.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_refused_and_left_alone(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A symbolic link of that name was once followed, and its target emptied."""
    make(tmp_path / "till-mars-0.lock")
    with pytest.raises(ConfigError, match=r"till-mars-0\.lock.*directory="):
        slot(tmp_path)
    if make is _symlink:
        assert (tmp_path / "precious").read_text() == "precious"


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could lock it at any time."""
    (tmp_path / "till-mars-0.lock").touch()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ConfigError, match=f"belongs to user {owner}, .*directory="):
        slot(tmp_path)


def test_a_directory_in_which_everyone_may_replace_files_is_refused(tmp_path: Path) -> None:
    """A user who deletes a locked file can lock a new one of its name: two processes would have one identity."""
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match="every user may replace files"):
        slot(tmp_path)
    tmp_path.chmod(0o1777)
    with slot(tmp_path) as ours:
        assert ours.number == 0


def test_a_file_that_is_replaced_while_it_is_locked_is_not_taken_for_the_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock on a deleted file excludes no other process."""
    file, flock = tmp_path / "till-mars-0.lock", fcntl.flock

    def replaced_first(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        file.unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replaced_first)
    before = open_files()
    with slot(tmp_path, slots=1) as ours:
        assert ours._file is not None
        assert os.fstat(ours._file).st_ino == file.stat().st_ino
        assert open_files() <= before + 1


def test_who_finds_no_slot_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that tries again every second would otherwise run out of descriptors."""
    with slot(tmp_path, slots=1):
        before = open_files()
        with pytest.raises(SlotsTakenError):
            slot(tmp_path, slots=1)
    os.mkfifo(tmp_path / "fifo-mars-0.lock")
    with pytest.raises(ConfigError):
        HostSlot("fifo", directory=tmp_path, host="mars")
    monkeypatch.setattr(fcntl, "flock", without_locks)
    with pytest.raises(ConfigError, match=r"till-mars-0.lock cannot be locked \(No locks available\): pass directory="):
        slot(tmp_path)
    assert open_files() < before, "that of the slot which was held is closed as well"


def test_a_lock_file_says_which_process_has_it(tmp_path: Path) -> None:
    """It no longer has the pid of the process before."""
    file = tmp_path / "till-mars-0.lock"
    file.write_text("4194304000\n")
    with slot(tmp_path):
        assert file.read_text() == f"{os.getpid()}\n"


def test_slots_are_kept_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process makes the directory."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with HostSlot("till", host="mars"):
        assert (tmp_path / ".local/state/membership-client/slots/till-mars-0.lock").exists()


PERMISSION = """
import os, sys
from membership_client import ConfigError
from membership_client.identity import HostSlot
if os.geteuid() == 0:
    os.setuid(12345)
try:
    HostSlot("till", directory=sys.argv[1], host="mars")
except ConfigError as error:
    print(error)
"""


def test_a_directory_without_permission_is_told_in_a_sentence() -> None:
    """It was once a raw PermissionError. The directory is not in `tmp_path`, which only root may enter if root runs the tests."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        said = subprocess.run([sys.executable, "-c", PERMISSION, folder], capture_output=True, text=True, check=False)
        Path(folder).chmod(0o700)
    assert "till-mars-0.lock cannot be opened (Permission denied)" in said.stdout, said.stderr
    assert "directory=" in said.stdout


def test_a_user_without_a_home_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many containers have such users; it was once a raw RuntimeError."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(ConfigError, match=r"no home directory.*directory="):
        HostSlot("till", host="mars")
