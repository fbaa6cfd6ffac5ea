"""Turns the process that SpeakingProcess started into a Spark driver: same pid, but a session, an environment and a log of its own.

What the driver says goes through a descriptor that nobody inherits. Its standard output is no place for that: the JVM
prints there too, and holds it open after the driver is gone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.spark.clusters.driving import SPEECH_FD


def main() -> None:
    start = json.loads(sys.argv[1])
    os.setsid()
    # Before the log is opened, which would otherwise be given this very descriptor.
    os.dup2(1, SPEECH_FD)
    log = os.open(start["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(Path(start["log"]).parent)
    # -P: the program's directory holds modules of ours whose names must not hide others.
    os.execve(sys.executable, [sys.executable, "-P", start["program"], sys.argv[1]], start["environment"])


if __name__ == "__main__":
    main()
