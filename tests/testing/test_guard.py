"""No process or directory of a test run may outlive it, however the run ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

# Each owner prints what it owns and then does nothing until it is killed.
SLEEPER_OWNER = """
import json, subprocess, sys, tempfile, time
from pathlib import Path
from membership_client.testing import guard
directory = Path(tempfile.mkdtemp())
guard.watch_directory(directory)
process = subprocess.Popen(["sleep", "600"], start_new_session=True)
guard.watch_process(process.pid)
print(json.dumps([process.pid, str(directory)]), flush=True)
time.sleep(600)
"""

KAFKA_OWNER = """
import json, time
from membership_client.testing import KafkaCluster
kafka = KafkaCluster()
kafka.start()
print(json.dumps([kafka._brokers[1]._process.pid, str(kafka._directory)]), flush=True)
time.sleep(600)
"""


def is_gone(pid: int) -> bool:
    """Whether there is no such process, or only a zombie."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)
    return state.stdout.strip()[:1] in {"", "Z"}


def await_gone(pid: int, directory: str) -> bool:
    """Whether both end within a limit that is generous for a busy machine."""
    for _ in range(300):
        if is_gone(pid) and not (directory and Path(directory).exists()):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(SLEEPER_OWNER, id="process"),
        pytest.param(KAFKA_OWNER, id="kafka", marks=pytest.mark.kafka),
    ],
)
def test_nothing_outlives_a_killed_owner(owner: str) -> None:
    """After SIGKILL of the owner its processes are gone, and so are its directories."""
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid, directory = json.loads(process.stdout.readline())
        assert not is_gone(pid)
        process.kill()
    assert await_gone(pid, directory)


def test_an_owner_that_ends_takes_its_processes_along() -> None:
    """When the owner ends by itself, all is removed before its exit code can be read."""
    owner = SLEEPER_OWNER.replace("time.sleep(600)", "process.returncode = 0")
    done = subprocess.run([sys.executable, "-c", owner], check=True, capture_output=True, text=True)
    pid, directory = json.loads(done.stdout)
    assert is_gone(pid)
    assert not Path(directory).exists()
