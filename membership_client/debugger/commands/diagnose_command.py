"""The command `membership-client diagnose`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from membership_client.cli.terminal_text import json_text
from membership_client.debugger.commands.findings_json import as_json
from membership_client.debugger.commands.text_report import report
from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.model.broker_log import BrokerLogError, read_broker_logs
from membership_client.debugger.model.timeline import groups_of
from membership_client.trace import TraceError, read_trace


def diagnose_files(paths: Iterable[Path], *, skew_s: float, in_json: bool, broker_logs: Iterable[Path] = ()) -> int:
    """Prints the diagnosis; the exit code says whether anything is wrong."""
    try:
        # The same file twice, by a pattern that overlaps a name, is one file.
        sections = [section for path in dict.fromkeys(paths) for section in read_trace(path)]
        groups = groups_of(sections, skew_s, read_broker_logs(broker_logs))
        findings = [finding for group in groups for finding in findings_of(group)]
    except (TraceError, BrokerLogError) as error:
        print(error, file=sys.stderr)
        return 2
    if in_json:
        print(json_text(as_json(groups, findings), indent=2))
    else:
        print("\n".join(report(groups, findings)).rstrip() or "The traces are empty: nothing happened.")
    return 1 if any(finding.kind.is_fault for finding in findings) else 0
