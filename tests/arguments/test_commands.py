"""Every option and argument of the commands is fed bad texts: one sentence on stderr and exit code 2, or it works."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client.cli import program
from tests.arguments.feeding import PROMISED_S, in_thread

pytestmark = pytest.mark.deep

_TEXTS = {
    "empty": "",
    "space": " ",
    "word": "x",
    "colon": "x:",
    "nul": "a\0b",
    "surrogate": "a\udc80",
    "escape": "\x1b[31mred",
    "long": "x" * 40_000,
    "many digits": "9" * 5000,
    "-1": "-1",
    "nan": "nan",
    "inf": "inf",
    "1e300": "1e300",
    "year 0": "0000-01-01",
    "duration": "P999999999999D",
    "equals": "=",
    "many": ",,,",
}
_WHERE = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "0.01"]
_TRACE = str(Path(__file__).with_name("no-such-trace.jsonl"))

LINES: dict[str, list[str]] = {
    "replay": [_TRACE],
    "diagnose": [_TRACE],
    "report": [_TRACE],
    "watch": ["shop", "--once", *_WHERE],
    "groups list": _WHERE,
    "groups describe": ["shop", *_WHERE],
    "groups waiting": ["shop", *_WHERE],
    "groups check": ["shop", *_WHERE],
    "groups migrate-watch": ["shop", "--once", *_WHERE],
    "groups remove": ["shop", "till-1", "--yes", "--watch", "0", *_WHERE],
    "groups offsets show": ["shop", *_WHERE],
    "groups offsets export": ["shop", *_WHERE],
    "groups offsets reset": ["shop", "--all-topics", "--to-latest", *_WHERE],
    "groups offsets import": ["shop", _TRACE, *_WHERE],
    "groups offsets forget": ["shop", "--topic", "orders", *_WHERE],
    "groups config show": ["shop", *_WHERE],
    "groups config set": ["shop", "consumer.session.timeout.ms=5000", "--yes", *_WHERE],
    "completion": ["bash"],
}
"""The shortest good line of each command; without a cluster they exit with 2 all the same."""
STARTS_A_CLUSTER = {"demo"}


def _commands(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield path.strip(), parser
    for action in below:
        for name, command in action.choices.items():
            yield from _commands(command, f"{path} {name}")


COMMANDS = dict(_commands(program._parser()))


def test_every_command_is_known() -> None:
    """A new one needs a line."""
    assert set(COMMANDS) == LINES.keys() | STARTS_A_CLUSTER


def _lines(path: str, action: argparse.Action) -> Iterator[tuple[str, list[str]]]:
    """The good line with this option, or this argument, exchanged for a bad one."""
    positional = [a for a in COMMANDS[path]._actions if not a.option_strings]
    for name, text in _TEXTS.items():
        line = list(LINES[path])
        if action.option_strings:
            if "--to-latest" in line and action.dest in {"to_time", "by_duration", "to_offset", "shift_by"}:
                line.remove("--to-latest")
            yield name, [*line, f"{action.option_strings[-1]}={text}"]
        else:
            line[positional.index(action)] = text
            yield name, line


@pytest.mark.parametrize("path", LINES)
def test_bad_texts(
    path: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--timeout nan` used to end in a traceback, `--watch inf` in a wait for ever."""
    monkeypatch.chdir(tmp_path)
    wrong = []
    for action in COMMANDS[path]._actions:
        if action.nargs == 0 or isinstance(action, argparse._HelpAction):
            continue
        for name, line in _lines(path, action):
            outcome = in_thread(functools.partial(program.main, [*path.split(), *line]))
            code = _exit_code(outcome.value)
            told = capsys.readouterr()
            if outcome.processor_s > PROMISED_S:
                wrong.append(f"{path} {action.dest}=<{name}>: takes {outcome.processor_s:.1f} s of a processor")
            if code not in {0, 2} or (code == 2 and not _is_a_sentence(told.err)):
                wrong.append(f"{path} {action.dest}=<{name}>: {code} {told.err[-150:]!r}")
    assert not wrong, "\n".join(wrong)


def _exit_code(value: object) -> object:
    if isinstance(value, SystemExit):
        return value.code
    return repr(value)[:120] if isinstance(value, BaseException) else value


def _is_a_sentence(text: str) -> bool:
    lines = text.strip().splitlines()
    return bool(lines) and "Traceback" not in text and "\x1b[31m" not in text
