"""The real demonstration, in a process of its own: it comes out as it should, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.demo_process import Launch

LIMIT_S = 600
"""A minute on an idle machine."""

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(LIMIT_S + 60), pytest.mark.deep]


class SparkLaunch(Launch):
    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "membership_client_spark", "demo", *self.arguments]


def test_an_executor_is_killed_and_every_order_is_there_once(tmp_path: Path) -> None:
    """The exit code, the verdict, the files that are kept, and no process."""
    launch = SparkLaunch(("--records", "2000", "--keep", str(tmp_path / "kept"), "--svg", str(tmp_path / "demo.svg")))
    with launch.start() as demo:
        output, complaints = demo.communicate(timeout=LIMIT_S)
    assert (demo.returncode, complaints) == (0, ""), output
    assert "killed in the middle of epoch" in output
    assert "An executor was lost; every order is there once, and the group did not notice." in output
    assert {"orders", "revenue"} <= {entry.name for entry in (tmp_path / "kept").iterdir()}
    assert (tmp_path / "demo.svg").exists()
    assert launch.await_silence(60) == []


@pytest.mark.parametrize("moment", ["starting real Kafka", "executor 0 started"])
def test_an_interrupt_leaves_nothing_behind(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither processes nor files, whether there are executors yet or not."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    launch = SparkLaunch(("--records", "2000"))
    with launch.start() as demo:
        await_line(demo, moment)
        demo.send_signal(signal.SIGINT)
        _, complaints = demo.communicate(timeout=LIMIT_S)
    assert (demo.returncode, complaints) == (
        130,
        "membership-client-spark demo: interrupted; nothing is left running.\n",
    )
    assert launch.await_silence(60) == []
    assert list(tmp_path.iterdir()) == []


def test_everything_dies_with_a_demonstration_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker, driver and executors notice it and end by themselves. The broker is an embedded one, since there are no jars."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("MEMBERSHIP_CLIENT_CACHE", str(tmp_path / "empty"))
    launch = SparkLaunch(("--records", "2000"))
    with launch.start() as demo:
        await_line(demo, "executor 0 started")
        demo.kill()
        demo.communicate(timeout=LIMIT_S)
    assert launch.await_silence(60) == []


def await_line(demo: subprocess.Popen[str], text: str) -> None:
    assert demo.stdout is not None
    assert any(text in line for line in demo.stdout), f"it ended without saying {text!r}"
