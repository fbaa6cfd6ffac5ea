"""Every public method in a forked child: none may wait for threads that only the parent has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from membership_client.testing import guard
from membership_client.testing.ports import free_ports

_ROOT = Path(__file__).parents[2]
_PROGRAM = Path(__file__).parent / "fork_program.py"
_BOUND_S = 120.0

_ALLOWED = {"close", "health", "explain"}


def test_every_method_raises_in_a_forked_child_which_then_ends() -> None:
    """commit(), assignment(), pause(), seek() and others used to hang, and the child's end aborted in librdkafka."""
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(_PROGRAM), f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
    )
    guard.watch_process(process.pid)
    try:
        said, _ = process.communicate(timeout=_BOUND_S)
    finally:
        process.kill()
    child, parent = map(json.loads, said.splitlines())
    assert parent == ["exit", 0]
    assert {name for _, name, _ in child} >= {
        "commit",
        "assignment",
        "pause",
        "seek",
        "store_offsets",
        "getone",
        "poll",
    }
    wrong = [entry for entry in child if entry[1] not in _ALLOWED and entry[2] != "ForkedMemberError"]
    assert wrong == []
    ends = {(name, outcome) for _, name, outcome in child if name in _ALLOWED}
    assert all("forked" in outcome for _, outcome in ends), ends
