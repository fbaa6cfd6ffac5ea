"""`python -m membership_client.testing`, run as a user runs it; `tests/spark` has the broker that it serves."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program with its input at an end, so that it would stop a broker at once."""
    return subprocess.run(
        [sys.executable, "-m", "membership_client.testing", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_says_what_the_program_does(option: str) -> None:
    """The help text names the arguments, the line of JSON and the exit codes."""
    ended = run(option)
    assert (ended.returncode, ended.stderr) == (0, "")
    for words in (
        "usage: python -m membership_client.testing",
        "NAME=VALUE",
        "bootstrap_servers",
        "exit code",
        "standard input",
    ):
        assert words in ended.stdout


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("num.io.threads", "'num.io.threads' is not a server property; write NAME=VALUE"),
        ("=2", "'=2' is not a server property"),
        ("", "'' is not a server property"),
        ("--listen", "unrecognized arguments: --listen"),
        ("--settings=2", "unrecognized arguments: --settings=2"),
        ("-x", "unrecognized arguments: -x"),
        ("num.io.threads=2\nnode.id=7", "settings: num.io.threads is a text of one line"),
    ],
)
def test_a_wrong_argument_is_told_in_a_sentence(argument: str, words: str) -> None:
    """Bad input ends with exit code 2 and one sentence, without a traceback and without a broker."""
    ended = run(argument)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
