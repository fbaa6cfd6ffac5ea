"""The command `membership-client watch`."""

from __future__ import annotations

import argparse
import json
import sys
import time

from membership_client.admin.commands import as_json
from membership_client.admin.commands.groups_command import DONE, INTERRUPTED, complain, run
from membership_client.admin.commands.picture import lines
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.watching import Watch, Watched
from membership_client.errors import ConnectionProblem
from membership_client.terminal_text import harmless

_CLEAR = "\x1b[H\x1b[J"


def watch(options: argparse.Namespace) -> int:
    """Shows the group until interrupted, or once. IMPOSSIBLE if it cannot be looked at."""
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
    """A cluster that does not answer for a while is told, and asked again; once it must answer."""
    try:
        watched = seen.see(admin.describe(options.group), time.monotonic())
    except ConnectionProblem as problem:
        if options.once:
            raise
        print(time.strftime("%H:%M:%S"), end="  ", file=sys.stderr)
        complain(problem)
        return
    _show(watched, machine=options.json, clears=not options.once and sys.stdout.isatty())


def _show(watched: Watched, *, machine: bool, clears: bool) -> None:
    if machine:
        print(json.dumps(as_json.watched(watched)), flush=True)
        return
    text = "\n".join([time.strftime("%H:%M:%S"), *map(harmless, lines(watched)), ""])
    print(_CLEAR + text if clears else text, flush=True)
