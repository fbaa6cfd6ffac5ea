"""The command `membership-client watch`."""

from __future__ import annotations

import argparse
import json
import sys
import time

from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import lines
from membership_client.admin.commands.groups_command import DONE, INTERRUPTED, complain, run
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.waiting import ObservedGroup, Watch
from membership_client.cli.terminal_text import printable
from membership_client.errors import ConnectionProblem

_CLEAR = "\x1b[H\x1b[J"


def watch(options: argparse.Namespace) -> int:
    """Show the group until interrupted, or once. Exit code IMPOSSIBLE if it cannot be described."""
    code = run(options, _watch)
    return DONE if code == INTERRUPTED else code


def _watch(admin: GroupAdmin, options: argparse.Namespace) -> int:
    seen = Watch()
    while True:
        _look(admin, options, seen)
        if options.once:
            return DONE
        time.sleep(options.every)


def _look(admin: GroupAdmin, options: argparse.Namespace, seen: Watch) -> None:
    """Describe and print the group. A cluster that does not answer is reported, and an error only with --once."""
    try:
        watched = seen.see(admin.describe(options.group), time.monotonic())
    except ConnectionProblem as problem:
        if options.once:
            raise
        print(time.strftime("%H:%M:%S"), end="  ", file=sys.stderr)
        complain(problem)
        return
    _show(watched, machine=options.json, clears=not options.once and sys.stdout.isatty())


def _show(watched: ObservedGroup, *, machine: bool, clears: bool) -> None:
    if machine:
        print(json.dumps(as_json.watched(watched)), flush=True)
        return
    text = "\n".join([time.strftime("%H:%M:%S"), *map(printable, lines(watched)), ""])
    print(_CLEAR + text if clears else text, flush=True)
