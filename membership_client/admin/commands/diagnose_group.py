"""`membership-client diagnose --group`: a group watched from outside, for groups whose members write no traces."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from membership_client.admin.commands.groups_command import DONE, FINDING, progress, run, show
from membership_client.admin.commands.outside_view import OutsideFinding, OutsideKind, OutsideView, first_line, summary
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.waiting import Waiting
from membership_client.errors import ConnectionProblem

_LOOK_S = 0.5


def diagnose_group(options: argparse.Namespace) -> int:
    """Watch the group for `options.watch` seconds. FINDING if something is wrong, IMPOSSIBLE if it cannot be described."""
    return run(options, _diagnose)


def _diagnose(admin: GroupAdmin, options: argparse.Namespace) -> int:
    seen, began_at = OutsideView(), time.time()
    last = _watch(admin, options, seen)
    findings = seen.findings()
    lines = [first_line(last.view, findings)]
    if not options.brief:
        lines += [summary(last.view, findings, seen.watched_s), *_details(findings)]
    show(options, lines, _as_json(last, findings, began_at, seen.watched_s))
    return FINDING if any(finding.is_fault for finding in findings) else DONE


def _watch(admin: GroupAdmin, options: argparse.Namespace, seen: OutsideView) -> Waiting:
    """Look at the group until the time is over. A look without an answer is repeated later; NoAnswerError if the first one has none."""
    last = admin.waiting_for(options.group)
    seen.see(last, time.monotonic())
    until, tell = time.monotonic() + options.watch, progress(f"watching {options.group}")
    while (left_s := until - time.monotonic()) > 0:
        tell(left_s)
        time.sleep(min(_LOOK_S, left_s))
        try:
            last = admin.waiting_for(options.group)
        except ConnectionProblem:
            continue
        seen.see(last, time.monotonic())
    return last


def _details(findings: list[OutsideFinding]) -> Iterator[str]:
    for number, finding in enumerate((one for one in findings if one.is_fault), 1):
        sure = "" if finding.certain else " (likely)"
        yield from ("", f"{number}. {finding.kind.value}{sure}", f"   {finding.sentence}", f"   Do: {finding.advice}")
    for title, kind in (("Gone:", OutsideKind.GONE), ("Lag:", OutsideKind.LAG)):
        if told := [finding.sentence for finding in findings if finding.kind is kind]:
            yield from ("", title, *(f"  {sentence}" for sentence in told))
    yield ""
    yield _LIMITS


_LIMITS = (
    "Heartbeats, callbacks and the reasons of rebalances cannot be seen from outside. "
    "They are in traces, which members write with the key trace.file."
)


def _as_json(last: Waiting, findings: list[OutsideFinding], began_at: float, watched_s: float) -> Any:
    return {
        "diagnosis": 1,
        "outside": {"group": last.view.group_id, "state": last.view.state, "watched_s": watched_s, "began": began_at},
        "findings": [
            {
                "kind": finding.kind.value,
                "fault": finding.is_fault,
                "certainty": "certain" if finding.certain else "likely",
                "group": last.view.group_id,
                "members": list(finding.members),
                "partitions": sorted(map(str, finding.partitions)),
                "seen_s": finding.seen_s,
                "sentence": finding.sentence,
                "advice": finding.advice,
            }
            for finding in findings
        ],
    }
