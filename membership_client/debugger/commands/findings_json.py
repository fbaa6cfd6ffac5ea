"""A diagnosis for programs. Fields are only ever added; `version` changes if one should ever go or change its meaning."""

from __future__ import annotations

from collections.abc import Sequence

from membership_client.debugger.findings.finding import Evidence, Finding
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned import unowned_totals_of
from membership_client.trace.values import Json

VERSION = 1


def as_json(groups: Sequence[Group], findings: Sequence[Finding]) -> Json:
    """Times are seconds since 1970."""
    return {
        "diagnosis": VERSION,
        "groups": [_group(group) for group in groups],
        "findings": [_finding(finding) for finding in findings],
    }


def _group(group: Group) -> Json:
    runs = [
        {
            "member": run.name,
            "member_id": run.member_id,
            "instance_id": run.instance_id,
            "host": run.host,
            "pid": run.pid,
            "pod": run.pod,
            "spark": run.spark,
            "began": run.began,
            "ended": run.ended,
            "closed": run.stop is not None,
            "dropped": sum(count for _, count in run.dropped),
        }
        for run in group.runs
    ]
    return {"group": group.name, "skew_s": group.skew_s, "lives": runs, "unowned": _unowned(group)}


def _unowned(group: Group) -> Json:
    return [
        {"partition": str(each.partition), "total_s": each.total_s, "longest_s": each.longest_s, "times": each.times}
        for each in unowned_totals_of(group)
    ]


def _finding(finding: Finding) -> Json:
    return {
        "kind": finding.kind.name,
        "fault": finding.kind.is_fault,
        "certainty": finding.certainty,
        "group": finding.group,
        "members": list(finding.members),
        "partitions": [str(partition) for partition in finding.partitions],
        "began": finding.began,
        "ended": finding.ended,
        "sentence": finding.sentence,
        "advice": finding.advice,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
    }


def _evidence(evidence: Evidence) -> Json:
    return {
        "file": str(evidence.path),
        "line": evidence.line,
        "time": evidence.time,
        "member": evidence.member,
        "text": evidence.text,
    }
