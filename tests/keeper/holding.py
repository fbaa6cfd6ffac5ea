"""A program in a process of its own, whose extension holds the interpreter, and the lines that it prints."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 60.0

_PROGRAM = """\
import ctypes, json, sys, time
from {library} import Consumer

def say(*what):
    print(json.dumps(what), flush=True)

config, topic, hold_s = json.loads(sys.argv[1])
consumer = Consumer(config)
tell = lambda kind: lambda _, partitions: say(kind, len(partitions))
consumer.subscribe([topic], on_assign=tell("assigned"), on_revoke=tell("revoked"), on_lost=tell("lost"))
while not consumer.assignment():
    consumer.poll(0.1)
say("holds")
ctypes.PyDLL(None).sleep(hold_s)  # Keeps the interpreter's lock, as an extension may.
say("free")
{then}
"""

THEN_POLL = """
end = time.monotonic() + 3
while time.monotonic() < end:
    consumer.poll(0.1)
say("polled")
consumer.close()
"""


class Holder:
    """The program, and its keeper."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: queue.Queue[list[Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(json.loads(line))

    def wait_for(self, what: str, *, whole: bool = False, patience_s: float = PATIENCE_S) -> list[list[Any]]:
        """The lines before the expected one; with it, if asked."""
        before = []
        while (said := self._lines.get(timeout=patience_s))[0] != what:
            before.append(said)
        return [*before, said] if whole else before

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def keeper(self) -> int:
        """The process id of the keeper that the program has started."""
        found: int = wait(lambda: next(iter(children(self.pid)), None), "keeper")
        return found

    def wait(self) -> int:
        return self._process.wait(PATIENCE_S)


def children(pid: int) -> list[int]:
    """The child processes of all threads of the process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait(condition: Any, what: str) -> Any:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {PATIENCE_S:g} s")


@contextmanager
def holding(
    config: dict[str, Any], topic: str, hold_s: int, then: str = THEN_POLL, library: str = "membership_client"
) -> Iterator[Holder]:
    """Starts the program with this configuration, and kills it at the end if it still runs."""
    program = _PROGRAM.replace("{then}", then).replace("{library}", library)
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps([config, topic, hold_s])],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Holder(process)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
