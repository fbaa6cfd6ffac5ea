"""The commands `groups remove`, `groups config show` and `groups config set`."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from dataclasses import replace

from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import table
from membership_client.admin.commands.groups_command import (
    DONE,
    FINDING,
    NOT_CONFIRMED,
    is_confirmed,
    progress,
    show,
)
from membership_client.admin.errors import UnknownMemberError
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.removal import Life, Removal, Sign, not_removed
from membership_client.admin.settings import SETTINGS, Setting
from membership_client.admin.views import GroupView, MemberView
from membership_client.errors import ConfigError
from membership_client.partitions import named


def remove(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """Exit code FINDING if a member was not removed."""
    if bool(options.members) == options.all:
        raise ConfigError("Give either the members to remove, or --all.")
    members = _chosen(admin.describe(options.group, lag=False), options)
    signs = {} if options.force else _signs(admin, options, members)
    kept = {name: sign for name, sign in signs.items() if sign.life is not Life.GONE}
    others = {name: member for name, member in members.items() if name not in kept}
    if others and not is_confirmed(options, _question(options, others, signs)):
        return NOT_CONFIRMED
    # By member id, because the user may have taken minutes to answer: a new process with the same instance id must not be removed.
    ids = [member.member_id for member in others.values()]
    removed = {gone.name: gone for gone in admin.remove(options.group, ids, reason=options.reason, force=True)}
    outcomes = [replace(removed[member.member_id], name=name) for name, member in others.items()]
    outcomes += [not_removed(name, members[name], sign) for name, sign in kept.items()]
    lines = [_line(outcome) for outcome in outcomes] or [f"{options.group} has no members."]
    show(options, lines, [as_json.removal(outcome) for outcome in outcomes])
    return DONE if all(outcome.removed for outcome in outcomes) else FINDING


def _chosen(view: GroupView, options: argparse.Namespace) -> dict[str, MemberView]:
    names = [member.name for member in view.members] if options.all else options.members
    found = {name: member for name in names if (member := view.find(name)) is not None}
    if unknown := [name for name in names if name not in found]:
        raise UnknownMemberError(f"Group {view.group_id} has no member {', '.join(unknown)}.")
    return found


def _signs(admin: GroupAdmin, options: argparse.Namespace, members: Collection[str]) -> dict[str, Sign]:
    tell = progress("watching for signs of life")
    return admin.signs_of_life(options.group, tuple(members), watch_s=options.watch, progress=tell)


def _question(options: argparse.Namespace, members: Mapping[str, MemberView], signs: Mapping[str, Sign]) -> str:
    lines = (
        f"{name} ({member.client_id} at {member.host.removeprefix('/')}, has {named(member.current)}){_why(signs, name)}"
        for name, member in members.items()
    )
    return f"Remove from {options.group}: {'; '.join(lines)}?"


def _why(signs: Mapping[str, Sign], name: str) -> str:
    return f", which {signs[name].life.value}: {signs[name].why}" if name in signs else ""


def _line(outcome: Removal) -> str:
    if outcome.error is not None:
        return f"{outcome.name} was not removed. {outcome.error}"
    has = named(outcome.member.current) if outcome.member else "nothing"
    return f"{outcome.name} was removed; it had {has}."


# --- settings of a group ---------------------------------------------------------------------------------------------


_HEAD = ("SETTING", "MS", "SET FOR THE GROUP", "DEFAULT", "LOWEST", "HIGHEST", "MEANING")
_CLASSIC = "each classic member chooses its own value within these limits"


def show_settings(admin: GroupAdmin, options: argparse.Namespace) -> int:
    found = admin.settings(options.group)
    show(options, table(_HEAD, map(_row, found)), [as_json.setting(setting) for setting in found])
    return DONE


def _row(setting: Setting) -> tuple[object, ...]:
    own = None if setting.value is None else "yes" if setting.is_own else "no"
    meaning = SETTINGS.get(setting.name, _CLASSIC)
    return setting.name, setting.value, own, setting.default, setting.lowest, setting.highest, meaning


def change(admin: GroupAdmin, options: argparse.Namespace) -> int:
    wanted = dict(options.settings)
    before = {setting.name: setting.value for setting in admin.settings(options.group)}
    lines = [f"{name}: {before.get(name)} -> {'default' if value is None else value}" for name, value in wanted.items()]
    if not is_confirmed(options, f"Change {options.group}: {', '.join(lines)}?"):
        return NOT_CONFIRMED
    admin.change_settings(options.group, wanted)
    show(options, lines, {name: {"before": before.get(name), "after": value} for name, value in wanted.items()})
    return DONE
