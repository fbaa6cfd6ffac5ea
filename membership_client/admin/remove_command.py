"""The command `groups remove`."""

from __future__ import annotations

import argparse
import sys

from membership_client.admin import as_json
from membership_client.admin.errors import UnknownMemberError
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.groups_command import (
    BAD_NEWS,
    DONE,
    IMPOSSIBLE,
    NOT_CONFIRMED,
    is_confirmed,
    progress,
    run,
    show,
)
from membership_client.admin.removal import Removal
from membership_client.admin.views import GroupView
from membership_client.admin.words import named


def remove(options: argparse.Namespace) -> int:
    """BAD_NEWS if one of them was not removed."""
    if bool(options.members) == options.all:
        print("Say which members to remove, or --all of them.", file=sys.stderr)
        return IMPOSSIBLE
    return run(options, _remove)


def _remove(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group, lag=False)
    names = [member.name for member in view.members] if options.all else options.members
    if not is_confirmed(options, _question(view, names, force=options.force)):
        return NOT_CONFIRMED
    outcomes = admin.remove(
        options.group,
        names,
        reason=options.reason,
        force=options.force,
        watch_s=options.watch,
        progress=progress("watching for signs of life"),
    )
    show(options, map(_line, outcomes), [as_json.removal(outcome) for outcome in outcomes])
    return DONE if all(outcome.removed for outcome in outcomes) else BAD_NEWS


def _question(view: GroupView, names: list[str], *, force: bool) -> str:
    found = {name: view.find(name) for name in names}
    if unknown := [name for name, member in found.items() if member is None]:
        raise UnknownMemberError(f"Group {view.group_id} has no member {', '.join(unknown)}.")
    who = "; ".join(
        f"{name} ({member.client_id} at {member.host.removeprefix('/')}, has {named(member.current)})"
        for name, member in found.items()
        if member is not None
    )
    return f"Remove from {view.group_id}{', alive or not' if force else ', unless it looks alive'}: {who}?"


def _line(outcome: Removal) -> str:
    if outcome.error is not None:
        return f"{outcome.name} was not removed. {outcome.error}"
    has = named(outcome.member.current) if outcome.member else "nothing"
    return f"{outcome.name} was removed; it had {has}."
