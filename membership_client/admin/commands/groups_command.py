"""Shared by all `groups` commands: connection, confirmation, progress, and exit codes for errors."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.java.java_config import from_java, read_properties
from membership_client.cli.terminal_text import printable
from membership_client.errors import ConfigError, MembershipError

DONE, FINDING, IMPOSSIBLE, NOT_CONFIRMED, INTERRUPTED = 0, 1, 2, 3, 130

_MOST_BYTES = 64 * 2**20
"""The largest file that is read. The offsets of a million partitions need less."""


def run(options: argparse.Namespace, command: Callable[[GroupAdmin, argparse.Namespace], int]) -> int:
    """Run the command and return its exit code. An error is written to stderr; the exit code is then IMPOSSIBLE."""
    try:
        with GroupAdmin(connection_of(options)) as admin:
            return command(admin, options)
    except (MembershipError, OSError, UnicodeError) as error:
        print_error(error)
        return IMPOSSIBLE
    except KeyboardInterrupt:
        _end_progress()
        return INTERRUPTED


def connection_of(options: argparse.Namespace) -> dict[str, Any]:
    """The configuration from --command-config; --bootstrap-server and --timeout override it. Raises ConfigError."""
    file = options.command_config
    config = {} if file is None else from_java(read_properties(text_of(file)))
    if options.bootstrap_server:
        config["bootstrap.servers"] = options.bootstrap_server
    if options.timeout is not None:
        config["request.timeout.ms"] = str(round(options.timeout * 1000))
    if "bootstrap.servers" not in config:
        raise ConfigError(
            "The cluster's address is missing: give --bootstrap-server, or bootstrap.servers in --command-config."
        )
    return config


def content_of(file: Path) -> bytes:
    """The file's bytes. ConfigError, which names the file, if it cannot be read, or is a device without an end."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if len(content) > _MOST_BYTES:
        raise ConfigError(f"{file} has more than {_MOST_BYTES // 2**20} MiB: is it the file that you meant?")
    return content


def text_of(file: Path) -> str:
    """The file's text: UTF-8, or else Latin-1, which java.util.Properties uses for streams of bytes."""
    content = content_of(file)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def show(options: argparse.Namespace, lines: Iterable[str], machine: Any) -> None:
    """Print the lines, or with --json the value `machine`."""
    _end_progress()
    print(json.dumps(machine) if options.json else "\n".join(map(printable, lines)), flush=True)


def print_error(error: Exception) -> None:
    """Write the error to stderr, without control characters, because it may quote names from the cluster."""
    _end_progress()
    print(*map(printable, str(error).split("\n")), sep="\n", file=sys.stderr)


def is_confirmed(options: argparse.Namespace, question: str) -> bool:
    """True if --yes was given, or the user answers yes at the terminal."""
    _end_progress()
    if options.yes:
        return True
    if not sys.stdin.isatty():
        print(
            f"{printable(question)} Standard input is no terminal, so you cannot be asked: give --yes.",
            file=sys.stderr,
        )
        return False
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def progress(what: str) -> Callable[[float], None]:
    """A function that shows the seconds left: on a terminal in one line that it updates; else it writes one line once."""
    told: list[int] = []

    def tell(left_s: float) -> None:
        seconds = round(left_s)
        if seconds in told or (told and not sys.stderr.isatty()):
            return
        told.append(seconds)
        start, end = ("\r", "") if sys.stderr.isatty() else ("", "\n")
        print(f"{start}{what}: {seconds} s left ", end=end, file=sys.stderr, flush=True)

    return tell


def _end_progress() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
