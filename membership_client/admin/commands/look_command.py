"""The commands that read: `groups list`, `describe`, `waiting` and `offsets show`, and `membership-client watch`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from membership_client.admin.commands import as_json, group_text
from membership_client.admin.commands.group_text import lines, table
from membership_client.admin.commands.groups_command import DONE, FINDING, INTERRUPTED, print_error, progress, run, show
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.views import GroupView
from membership_client.admin.waiting import Waiting, WaitWatch
from membership_client.cli.terminal_text import printable
from membership_client.errors import ConnectionProblem

_LOOK_S = 0.5


def list_groups(admin: GroupAdmin, options: argparse.Namespace) -> int:
    groups = admin.list(states=options.state, protocols=options.protocol, prefix=options.prefix)
    rows = ((group.group_id, group.protocol, group.state) for group in groups)
    show(options, table(("GROUP", "PROTOCOL", "STATE"), rows), [as_json.summary(group) for group in groups])
    return DONE


def describe(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group)
    watched = WaitWatch().see(view, time.monotonic())
    lines = [*group_text.lines(watched), "", *group_text.subscriptions(view), "", *group_text.offsets(view)]
    show(options, lines, as_json.watched(watched))
    return DONE


def waiting(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """Exit code FINDING if the group waits for a member, or if that cannot be known."""
    told = _watch(admin, options)
    show(options, group_text.waiting_lines(told), as_json.waiting(told))
    return FINDING if told.blockers or told.unknown or told.quiet else DONE


def _watch(admin: GroupAdmin, options: argparse.Namespace) -> Waiting:
    """Observe the group for --watch seconds, so that the durations of its waits are known."""
    told = admin.waiting_for(options.group)
    until, tell = time.monotonic() + options.watch, progress(f"watching {options.group}")
    while (left_s := until - time.monotonic()) > 0:
        tell(left_s)
        time.sleep(min(_LOOK_S, left_s))
        told = admin.waiting_for(options.group)
    return told


def offsets(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group)
    show(options, group_text.offsets(view), as_json.offsets(view))
    return DONE


# --- watch -----------------------------------------------------------------------------------------------------------


_CLEAR = "\x1b[H\x1b[J"


def watch(options: argparse.Namespace) -> int:
    """Show the group until interrupted, or once. Exit code IMPOSSIBLE if it cannot be described."""
    code = run(options, _watch_group)
    return DONE if code == INTERRUPTED else code


def _watch_group(admin: GroupAdmin, options: argparse.Namespace) -> int:
    seen = WaitWatch()
    for view in looks(admin, options):
        watched = seen.see(view, time.monotonic())
        show_picture(options, partial(lines, watched), as_json.watched(watched))
        if options.once:
            break
    return DONE


def looks(admin: GroupAdmin, options: argparse.Namespace, *, lag: bool = True) -> Iterator[GroupView]:
    """Describe the group every `options.every` seconds. If the cluster does not answer, report it and go on; with --once, raise."""
    while True:
        try:
            view = admin.describe(options.group, lag=lag)
        except ConnectionProblem as problem:
            if options.once:
                raise
            print(time.strftime("%H:%M:%S"), end="  ", file=sys.stderr)
            print_error(problem)
        else:
            yield view
        time.sleep(options.every)


def show_picture(options: argparse.Namespace, lines_of: Callable[[int | None], list[str]], machine: Any) -> None:
    """Print the lines for the terminal's width; on a terminal they replace the last ones. With --json, print `machine` in one line."""
    if options.json:
        print(json.dumps(machine), flush=True)
        return
    # A file or a pipe has no width: lines are not cut there.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    text = "\n".join([time.strftime("%H:%M:%S"), *map(printable, lines_of(width)), ""])
    clears = not options.once and sys.stdout.isatty()
    print(_CLEAR + text if clears else text, flush=True)
