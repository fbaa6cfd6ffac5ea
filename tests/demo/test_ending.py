"""The demonstration leaves no process behind, whatever ends it."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.demo.demo_process import LIMIT_S, Launch

if TYPE_CHECKING:
    import subprocess

finds_processes = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
pytestmark = [pytest.mark.deep, finds_processes]


def await_line(demo: subprocess.Popen[str], text: str) -> None:
    """Reads its output up to a line that contains the text."""
    assert demo.stdout is not None
    assert any(text in line for line in demo.stdout), f"it ended without saying {text!r}"


def end(demo: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    demo.send_signal(number)
    _, complaints = demo.communicate(timeout=LIMIT_S)
    return demo.returncode, complaints


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["starting", "orders-b starts", " takes "])
def test_an_interrupt_ends_members_and_broker(number: signal.Signals, moment: str) -> None:
    """It comes while the broker starts, while members join, and when they are stable."""
    launch = Launch(("--plain",))
    with launch.start() as demo:
        await_line(demo, moment)
        code, complaints = end(demo, number)
    assert code == 130
    assert complaints == "membership-client demo: interrupted; nothing is left running.\n"
    assert launch.await_silence(30) == []


@pytest.mark.kafka
@pytest.mark.parametrize("moment", ["starting real Kafka", "3/5"])
def test_an_interrupt_ends_a_real_broker_too(moment: str) -> None:
    launch = Launch(("--plain", "--broker", "kafka"))
    with launch.start() as demo:
        await_line(demo, moment)
        time.sleep(0.2)
        code, complaints = end(demo, signal.SIGINT)
    assert (code, complaints.count("\n")) == (130, 1)
    assert launch.await_silence(30) == []


def test_members_and_broker_die_with_a_demonstration_that_is_killed() -> None:
    """The members notice it and end by themselves."""
    launch = Launch(("--plain",))
    with launch.start() as demo:
        await_line(demo, " takes ")
        assert len(launch.descendants()) > 1
        code, _ = end(demo, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert launch.await_silence(30) == []


def test_a_reader_that_goes_away_ends_it() -> None:
    """`membership-client demo | head` ends when its reader has ended."""
    launch = Launch(("--plain",))
    with launch.start() as demo:
        await_line(demo, "orders-a starts")
        assert demo.stdout is not None
        demo.stdout.close()
        assert demo.wait(LIMIT_S) == 141
    assert launch.await_silence(30) == []


def test_a_member_killed_by_a_curious_hand_is_not_as_expected() -> None:
    """Members are real processes with their pids on the screen, so users will kill one."""
    launch = Launch(("--plain",))
    with launch.start() as demo:
        assert demo.stdout is not None
        found = next(match for line in demo.stdout if (match := re.search(r"orders-c starts as process (\d+)", line)))
        os.kill(int(found[1]), signal.SIGKILL)
        output, complaints = demo.communicate(timeout=LIMIT_S)
    assert (demo.returncode, complaints) == (1, "")
    assert "NOT AS EXPECTED: the group did not settle" in output
    assert "3 steps were not reached." in output
    assert launch.await_silence(30) == []
