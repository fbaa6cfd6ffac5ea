"""`python -m membership_client.testing`, run as a user runs it; `tests/spark` has the broker that it serves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from confluent_kafka.admin import AdminClient


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program with its input at an end, so that it would stop a broker at once."""
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
        ("num.partitions=2\nnode.id=7", "settings: num.partitions is a text of one line"),
        ("num.partitions=many", "num.partitions is a whole number, not 'many'"),
        (
            "num.io.threads=2",
            "'num.io.threads' is not a setting of an embedded broker. It has auto.create.topics.enable, ",
        ),
        ("--topic=orders", "'orders' is not a topic; write NAME=PARTITIONS"),
        ("--brokers=0", "brokers must be a whole number from 1 to 100"),
    ],
)
def test_a_wrong_argument_is_told_in_a_sentence(argument: str, words: str) -> None:
    """Bad input ends with exit code 2 and one sentence, without a traceback and without a broker."""
    ended = run(argument)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_it_serves_until_its_input_ends() -> None:
    """The line of JSON has the address, and the topics exist."""
    command = [sys.executable, "-m", "membership_client.testing", "--topic", "orders=3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        servers = json.loads(program.stdout.readline())["bootstrap_servers"]
        topics = AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=60).topics
        assert len(topics["orders"].partitions) == 3
        program.communicate(timeout=60)
    assert program.returncode == 0
