"""The commands `groups offsets reset`, `export`, `import` and `forget`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import table
from membership_client.admin.commands.groups_command import (
    DONE,
    FINDING,
    NOT_CONFIRMED,
    content_of,
    is_confirmed,
    print_error,
    show,
)
from membership_client.admin.errors import OffsetsNotChangedError
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.resetting import Earliest, Given, Latest, Plan, Shift, Since, Target, read_csv, write_csv
from membership_client.errors import ConfigError
from membership_client.types import TopicPartition


def reset(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """Exit code FINDING if an offset could not be changed."""
    if bool(options.topics) == options.all_topics:
        raise ConfigError("Give either --topic, which may be repeated, or --all-topics.")
    topics, partitions = _places(options)
    if options.to_offset is not None:
        at_ends = admin.plan_reset(options.group, Latest(), topics=topics, partitions=partitions)
        given = Given({change.partition: options.to_offset for change in at_ends.changes})
        return _carry_out(admin, options, admin.plan_reset(options.group, given))
    plan = admin.plan_reset(options.group, _target(options), topics=topics, partitions=partitions)
    return _carry_out(admin, options, plan)


def _target(options: argparse.Namespace) -> Target:
    if options.to_time is not None:
        return Since(options.to_time)
    if options.by_duration is not None:
        return Since.ago(options.by_duration)
    if options.shift_by is not None:
        return Shift(options.shift_by)
    return Earliest() if options.to_earliest else Latest()


def import_offsets(admin: GroupAdmin, options: argparse.Namespace) -> int:
    return _carry_out(admin, options, admin.plan_reset(options.group, Given(_offsets_in(options.file, options.group))))


def _offsets_in(file: Path, group: str) -> dict[TopicPartition, int]:
    """The group's offsets in the file. ConfigError if there are none, as in a file of another group."""
    try:
        text = content_of(file).decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.") from None
    offsets = read_csv(text, group)
    if not offsets:
        why = f"no line of {file} is about group {group}" if text.strip() else f"{file} has no lines"
        raise ConfigError(f"Nothing was changed: {why}.")
    return offsets


def _carry_out(admin: GroupAdmin, options: argparse.Namespace, plan: Plan) -> int:
    rows = ((c.partition, c.before, c.after, c.note) for c in plan.changes)
    show(options, table(("PARTITION", "COMMITTED", "NEW", "NOTE"), rows), as_json.plan(plan))
    return _do(options, f"Set {len(plan.changes)} offsets of {options.group}?", lambda: admin.reset(plan))


def _do(options: argparse.Namespace, question: str, change: Callable[[], None]) -> int:
    if not options.execute:
        print("Nothing was changed: give --execute to do it.", file=sys.stderr)
        return DONE
    if not is_confirmed(options, question):
        return NOT_CONFIRMED
    try:
        change()
    except OffsetsNotChangedError as error:
        print_error(error)
        return FINDING
    print("Done.", file=sys.stderr)
    return DONE


def export(admin: GroupAdmin, options: argparse.Namespace) -> int:
    view = admin.describe(options.group)
    text = write_csv({partition: offset.offset for partition, offset in view.committed.items()})
    show(options, text.splitlines(), as_json.offsets(view))
    return DONE


def forget(admin: GroupAdmin, options: argparse.Namespace) -> int:
    topics, named = _places(options)
    committed = admin.describe(options.group).committed
    wanted = sorted(place for place in committed if place.topic in topics or place in named)
    show(options, map(str, wanted), [str(place) for place in wanted])
    question = f"Forget {len(wanted)} offsets of {options.group}?"
    return _do(options, question, lambda: admin.forget_offsets(options.group, wanted))


def _places(options: argparse.Namespace) -> tuple[list[str], list[TopicPartition]]:
    """The topics and the partitions that --topic names."""
    whole = [given for given in options.topics if isinstance(given, str)]
    single = [place for given in options.topics if not isinstance(given, str) for place in given]
    return whole, single
