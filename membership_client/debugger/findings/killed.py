"""KILLED: a trace that ends without a close while others go on."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.deaths import just_ends, proof_of_death
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import partitions_text


def killed(group: Group) -> list[Finding]:
    return [_finding(group, run) for run in group.runs if just_ends(group, run)]


def _finding(group: Group, run: MemberRun) -> Finding:
    last, proof = run.entries[-1], proof_of_death(group, run)
    owned = f" It owned {partitions_text(last.owned)}." if last.owned else ""
    torn = ", torn in the middle" if run.torn else ""
    return Finding(
        kind=Kind.KILLED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(last.owned)),
        began=last.time,
        ended=last.time,
        sentence=(
            f"{run.name} ({run.where}) ended without leaving: its trace just stops{torn}. "
            f"The process was killed, crashed or has not run since, or its file was cut off.{owned}"
        ),
        evidence=(run.evidence(last, f"the last line{torn}"), *([proof] if proof else [])),
        advice=(
            "Look for the out-of-memory killer, an eviction or a crash at that time. A static member (group.instance.id) "
            "with group.instance.id.conflict=takeover gets its partitions back at once."
        ),
        certainty="certain" if proof else "likely",
    )
