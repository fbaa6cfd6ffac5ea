"""The command `membership-client replay`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from membership_client.cli.terminal_text import harmless
from membership_client.debugger.replay import replay
from membership_client.debugger.words import counted
from membership_client.trace import Section, TraceError, read_trace


def replay_files(paths: Iterable[Path]) -> int:
    """Prints one line per run; the exit code says how it went."""
    try:
        outcomes = [_replay_file(path) for path in paths]
    except TraceError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(outcomes) else 1


def _replay_file(path: Path) -> bool:
    sections = read_trace(path)
    if not sections:
        print(harmless(f"{path}: nothing was recorded"))
    outcomes = [_replay_section(section) for section in sections]
    return all(outcomes)


def _replay_section(section: Section) -> bool:
    outcome = replay(section)
    who = f"{section.path}: {section.name} of {section.header['group']}"
    if section.dropped:
        verb = "is" if section.dropped == 1 else "are"
        who += f" (line {section.line}: {counted(section.dropped, 'step')} before it {verb} missing)"
    if outcome.divergence is not None:
        print(harmless(f"{who}: after {counted(outcome.steps, 'step')}, {outcome.divergence}"))
        return False
    torn = ", then a torn line" if section.torn else ""
    print(harmless(f"{who}: {counted(outcome.steps, 'step')}, all as recorded{torn}"))
    return True
