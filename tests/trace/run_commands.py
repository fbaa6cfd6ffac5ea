"""Runs every command that reads traces on files, in a process with limited memory."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import traceback
from pathlib import Path

from membership_client.cli.program import main

MOST_BYTES = 1 << 30
MOST_CPU_S = 300

COMMANDS: dict[str, list[str]] = {
    "replay": ["replay"],
    "diagnose": ["diagnose"],
    "diagnose --json": ["diagnose", "--json"],
    "report": ["report", "-o", "{file}.html"],
    "report --format perfetto": ["report", "--format", "perfetto", "-o", "{file}.perfetto"],
}


def run(name: str, file: Path) -> dict[str, object]:
    """What the command printed and how it ended. Output is encoded strictly, as on a terminal."""
    outputs = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    raised, code = None, None
    try:
        with contextlib.redirect_stdout(outputs[0]), contextlib.redirect_stderr(outputs[1]):
            code = main([*(part.format(file=file) for part in COMMANDS[name]), str(file)])
            outputs[0].flush()
    except BaseException:  # noqa: BLE001 - that is what the tests look for
        raised = traceback.format_exc()[-3000:]
    said = [output.detach().getvalue().decode(errors="replace") for output in outputs]
    return {"code": code, "raised": raised, "out": said[0], "err": said[1]}


def run_all(folder: Path) -> None:
    """Prints one line of JSON for each file and command, as soon as its result is known."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    for file in sorted(folder.glob("*.jsonl")):
        for name in COMMANDS:
            sys.stdout.write(json.dumps({"path": str(file), "command": name, **run(name, file)}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    run_all(Path(sys.argv[1]))
