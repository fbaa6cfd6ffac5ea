"""What all `groups` commands share: reaching the cluster, asking back, progress, errors as exit codes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.java.java_config import from_java
from membership_client.admin.java.properties import read_properties
from membership_client.errors import ConfigError, MembershipError
from membership_client.terminal_text import harmless

DONE, BAD_NEWS, IMPOSSIBLE, NOT_CONFIRMED, INTERRUPTED = 0, 1, 2, 3, 130


def run(options: argparse.Namespace, command: Callable[[GroupAdmin, argparse.Namespace], int]) -> int:
    """Its exit code; an error is told on stderr, and is IMPOSSIBLE."""
    try:
        with GroupAdmin(connection_of(options)) as admin:
            return command(admin, options)
    except (MembershipError, OSError, UnicodeError) as error:
        complain(error)
        return IMPOSSIBLE
    except KeyboardInterrupt:
        _end_progress()
        return INTERRUPTED


def connection_of(options: argparse.Namespace) -> dict[str, Any]:
    """From --command-config, over which --bootstrap-server and --timeout win. ConfigError or OSError."""
    file = options.command_config
    config = {} if file is None else from_java(read_properties(_text(file)))
    if options.bootstrap_server:
        config["bootstrap.servers"] = options.bootstrap_server
    if options.timeout is not None:
        config["request.timeout.ms"] = str(round(options.timeout * 1000))
    if "bootstrap.servers" not in config:
        raise ConfigError("Where is the cluster? Give --bootstrap-server, or bootstrap.servers in --command-config.")
    return config


def content_of(file: Path) -> bytes:
    """ConfigError, which names the file, if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


def _text(file: Path) -> str:
    """Java takes every byte for a letter of Latin-1, so a file that is not UTF-8 must be that."""
    content = content_of(file)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def show(options: argparse.Namespace, lines: Iterable[str], machine: Any) -> None:
    """Lines for people, or JSON."""
    _end_progress()
    print(json.dumps(machine) if options.json else "\n".join(map(harmless, lines)), flush=True)


def complain(error: Exception) -> None:
    """On stderr; errors may name what others chose, too."""
    _end_progress()
    print(*map(harmless, str(error).split("\n")), sep="\n", file=sys.stderr)


def is_confirmed(options: argparse.Namespace, question: str) -> bool:
    """By --yes, or by somebody at the terminal."""
    _end_progress()
    if options.yes:
        return True
    if not sys.stdin.isatty():
        print(f"{harmless(question)} Nobody is here to ask: give --yes.", file=sys.stderr)
        return False
    print(f"{harmless(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def progress(what: str) -> Callable[[float], None]:
    """Told the seconds left, keeps one line on a terminal up to date; elsewhere it says it once."""
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
