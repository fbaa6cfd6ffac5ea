"""The command `groups check`: what stands in the way of a change of a group."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Iterator

from membership_client.admin.checks.finding import GroupCheck
from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import folded
from membership_client.admin.commands.groups_command import DONE, FINDING, show, text_of
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.java.java_config import read_properties
from membership_client.partitions import counted

_CHANGES = {"consumer": "KIP-848", "static": "static membership", "membership-client": "membership_client"}


def check(admin: GroupAdmin, options: argparse.Namespace) -> int:
    """Exit code FINDING if there are blockers or warnings."""
    config = None if options.config is None else read_properties(text_of(options.config))
    found = admin.check(options.group, options.to, config=config, patterns=options.pattern)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    show(options, [line for text in _lines(found) for line in folded(text, width)], as_json.check(found))
    return DONE if found.is_ready else FINDING


def _lines(found: GroupCheck) -> Iterator[str]:
    yield _title(found)
    for number, finding in enumerate(found.findings, 1):
        yield from ("", f"{number}. {finding.severity.name}: {finding.kind.value}", f"   {finding.sentence}")
        if finding.members:
            yield f"   Members: {_named(finding.members)}."
        yield f"   Do: {finding.advice}"
    if found.unchecked:
        yield from ("", "Not checked:", *(f"  {sentence}" for sentence in found.unchecked))


def _title(found: GroupCheck) -> str:
    view = found.view
    counts = Counter(finding.severity.value for finding in found.findings)
    classic = sum(member.is_classic for member in view.members)
    about = f"{view.state}, {view.protocol} protocol, {view.assignor or 'no'} assignor, {counted(len(view.members), 'member')}"
    if view.protocol == "consumer" and classic:
        about += f" ({classic} of them classic)"
    return f"{view.group_id}: {about}. To {_CHANGES[found.to]}: {', '.join(counted(n, what) for what, n in counts.items()) or 'nothing is in the way'}."


_MOST_NAMES = 10


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"
