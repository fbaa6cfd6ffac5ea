"""Commands whose standard output is full, or whose reader has closed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.output import ENDS, run_with_output
from tests.report.story import known_run

COMMANDS = {
    "diagnose": ["diagnose", "{trace}"],
    "replay": ["replay", "{trace}"],
    "report": ["report", "{trace}", "-o", "{trace}.html"],
    "completion": ["completion", "bash"],
    "--help": ["--help"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("output", ENDS)
def test_an_output_that_cannot_be_written_ends_every_command_alike(output: str, command: str, tmp_path: Path) -> None:
    """A full output once gave a traceback and exit code 1, with which `diagnose` says that something is wrong."""
    trace = known_run(tmp_path)[0]
    assert run_with_output([word.format(trace=trace) for word in COMMANDS[command]], output) == ENDS[output]
