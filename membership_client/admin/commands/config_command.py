"""The commands `groups config show` and `groups config set`."""

from __future__ import annotations

import argparse

from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import table
from membership_client.admin.commands.groups_command import DONE, NOT_CONFIRMED, is_confirmed, show
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.settings import SETTINGS, Setting

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
