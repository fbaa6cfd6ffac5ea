"""The command `groups migrate-watch`: shows a group that moves from one protocol to the other, until all members have moved."""

from __future__ import annotations

import argparse
import time
from functools import partial

from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import fitting, folded, title
from membership_client.admin.commands.groups_command import DONE, FINDING
from membership_client.admin.commands.look_command import looks, show_picture
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.migration import Migration, MigrationWatch
from membership_client.partitions import named

_HEAD = ("MEMBER", "PROTOCOL", "HOST", "EPOCH", "HAS")
_DISPENSABLE = ("HOST", "EPOCH", "HAS")
_STILL_S = 60.0
_NAMES = {"consumer": "KIP-848", "classic": "the classic protocol"}


def migrate_watch(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """Show the group until it has moved. With --once, exit code FINDING if it has not."""
    watch = MigrationWatch(options.to)
    for view in looks(admin, options, lag=False):
        seen = watch.see(view, time.monotonic())
        show_picture(options, partial(lines, seen), as_json.migration(seen))
        if seen.is_done:
            return DONE
        if options.once:
            break
    return FINDING


def lines(seen: Migration, width: int | None = None) -> list[str]:
    """The group, how far it is, and a table with the members that have not moved first."""
    rows = sorted(seen.view.members, key=lambda member: (member not in seen.left, member.name))
    cells = [
        (m.name, "classic" if m.is_classic else "KIP-848", m.host.removeprefix("/"), m.epoch, named(m.current))
        for m in rows
    ]
    return [
        *folded(title(seen.view), width),
        *folded(_progress(seen), width),
        "",
        *fitting(_HEAD, cells, _DISPENSABLE, width),
    ]


def _progress(seen: Migration) -> str:
    count = len(seen.view.members)
    if not count:
        return "The group has no members."
    done = f"{seen.moved} of {count} member{'s' * (count != 1)} use{'s' * (count == 1)} {_NAMES[seen.to]}"
    if seen.is_done:
        return f"{done}. The group has moved."
    missing = f"; {seen.missing} fewer than before" if seen.missing else ""
    waits = f"; no change for {seen.still_s:.0f} s" if seen.still_s >= _STILL_S else ""
    return f"{done}{missing}{waits}."
