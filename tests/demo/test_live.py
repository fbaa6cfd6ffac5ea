"""On a terminal the live view is drawn, the cursor comes back, and the summary stays."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from typing import TYPE_CHECKING

import pytest

from tests.demo.demo_process import LIMIT_S, Launch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.deep

_ROWS, _COLUMNS = 24, 80


def run_on_a_terminal(*arguments: str) -> tuple[int, str]:
    """The exit code, and everything the terminal was sent."""
    launch = Launch(arguments)
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    environment = launch.environment | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    environment = {key: value for key, value in environment.items() if key not in {"COLUMNS", "LINES", "NO_COLOR"}}
    with subprocess.Popen(launch.command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as demo:
        os.close(theirs)
        sent = read_all(terminal)
        return demo.wait(LIMIT_S), sent.decode()


def read_all(terminal: int) -> bytes:
    """Until the other end is closed, which Linux reports as an error and macOS as the end of the file."""
    chunks: list[bytes] = []
    try:
        while chunk := os.read(terminal, 65536):
            chunks.append(chunk)
    except OSError:
        pass
    finally:
        os.close(terminal)
    return b"".join(chunks)


def test_a_terminal_gets_the_live_view_and_then_the_summary(tmp_path: Path) -> None:
    code, sent = run_on_a_terminal("--svg", str(tmp_path / "demo.svg"))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sent)
    assert code == 0, shown[-3000:]
    for heading in ("member", "instance id", "state", "epoch", "heartbeat", "owns", "what happened, and why"):
        assert heading in shown
    assert "RECONCILING" in shown, "a member that gives up partitions is seen doing so"
    assert "All 27 expectations were met." in shown.splitlines()[-2]
    assert sent.count("\x1b[?25l") == sent.count("\x1b[?25h") == 1, "the cursor is hidden once and comes back"
    assert "orders-a" in (tmp_path / "demo.svg").read_text()
