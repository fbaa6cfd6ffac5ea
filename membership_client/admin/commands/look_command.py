"""The commands `groups list`, `groups describe`, `groups waiting` and `groups offsets show`."""

from __future__ import annotations

import argparse
import time

from membership_client.admin.blockers import Waiting
from membership_client.admin.commands import as_json, picture
from membership_client.admin.commands.groups_command import BAD_NEWS, DONE, progress, show
from membership_client.admin.commands.tables import table
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.watching import Watch

_LOOK_S = 0.5


def list_groups(admin: GroupAdmin, options: argparse.Namespace) -> int:
    groups = admin.list(states=options.state, protocols=options.protocol, prefix=options.prefix)
    rows = ((group.group_id, group.protocol, group.state) for group in groups)
    show(options, table(("GROUP", "PROTOCOL", "STATE"), rows), [as_json.summary(group) for group in groups])
    return DONE


def describe(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group)
    watched = Watch().see(view, time.monotonic())
    lines = [*picture.lines(watched), "", *picture.subscriptions(view), "", *picture.offsets(view)]
    show(options, lines, as_json.watched(watched))
    return DONE


def waiting(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """BAD_NEWS if somebody is waited for, or nobody can tell."""
    told = _watch(admin, options)
    show(options, picture.waiting_lines(told), as_json.waiting(told))
    return BAD_NEWS if told.blockers or told.unknown else DONE


def _watch(admin: GroupAdmin, options: argparse.Namespace) -> Waiting:
    """Looks until the time is up, so that it is known for how long somebody has been waited for."""
    told = admin.waiting_for(options.group)
    until, tell = time.monotonic() + options.watch, progress(f"watching {options.group}")
    while (left_s := until - time.monotonic()) > 0:
        tell(left_s)
        time.sleep(min(_LOOK_S, left_s))
        told = admin.waiting_for(options.group)
    return told


def offsets(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group)
    show(options, picture.offsets(view), as_json.offsets(view))
    return DONE
