"""The commands `groups list`, `groups describe`, `groups waiting` and `groups offsets show`."""

from __future__ import annotations

import argparse
import time

from membership_client.admin.commands import as_json, group_text
from membership_client.admin.commands.group_text import table
from membership_client.admin.commands.groups_command import BAD_NEWS, DONE, progress, show
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.waiting import Waiting, Watch

_LOOK_S = 0.5


def list_groups(admin: GroupAdmin, options: argparse.Namespace) -> int:
    groups = admin.list(states=options.state, protocols=options.protocol, prefix=options.prefix)
    rows = ((group.group_id, group.protocol, group.state) for group in groups)
    show(options, table(("GROUP", "PROTOCOL", "STATE"), rows), [as_json.summary(group) for group in groups])
    return DONE


def describe(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group)
    watched = Watch().see(view, time.monotonic())
    lines = [*group_text.lines(watched), "", *group_text.subscriptions(view), "", *group_text.offsets(view)]
    show(options, lines, as_json.watched(watched))
    return DONE


def waiting(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """Exit code BAD_NEWS if the group waits for a member, or this cannot be known."""
    told = _watch(admin, options)
    show(options, group_text.waiting_lines(told), as_json.waiting(told))
    return BAD_NEWS if told.blockers or told.unknown else DONE


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
