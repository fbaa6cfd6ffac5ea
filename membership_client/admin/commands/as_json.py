"""The `--json` output of the commands: values for `json.dumps`. Partitions are `topic-number`, durations are seconds."""

from __future__ import annotations

from typing import Any

from membership_client.admin.checks.finding import GroupCheck
from membership_client.admin.describing import GroupSummary
from membership_client.admin.migration import Migration
from membership_client.admin.quiet import QuietMember
from membership_client.admin.removal import Removal
from membership_client.admin.resetting import Plan
from membership_client.admin.settings import Setting
from membership_client.admin.views import GroupView, MemberView, Wait
from membership_client.admin.waiting import ObservedGroup, Waiting


def summary(group: GroupSummary) -> dict[str, Any]:
    return {"group": group.group_id, "protocol": group.protocol or None, "state": group.state or None}


def watched(seen: ObservedGroup) -> dict[str, Any]:
    waits = [wait(one, seconds) for one, seconds in seen.waits]
    return {**view(seen.view), "seen_s": seen.seen_s, "waits": waits}


def view(group: GroupView) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "protocol": group.protocol,
        "state": group.state,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor": group.assignor,
        "coordinator": group.coordinator and str(group.coordinator),
        "coordinator_id": group.coordinator and group.coordinator.node_id,
        "members": [member(one) for one in group.members],
        "offsets": offsets(group),
        "lag": {str(partition): lag for partition, lag in sorted(group.lag.items())},
    }


def member(one: MemberView) -> dict[str, Any]:
    return {
        "member": one.member_id,
        "instance": one.instance_id,
        "client": one.client_id,
        "host": one.host,
        "epoch": one.epoch,
        "classic": one.is_classic,
        "topics": sorted(one.topics),
        "regex": one.regex or None,
        "current": sorted(map(str, one.current)),
        "target": sorted(map(str, one.target)),
    }


def offsets(group: GroupView) -> list[dict[str, Any]]:
    owners, lag = group.owners, group.lag
    return [
        {
            "topic": place.topic,
            "partition": place.partition,
            "committed": group.committed[place].offset if place in group.committed else None,
            "end": group.ends.get(place),
            "lag": lag.get(place),
            "owner": owners[place].member_id if place in owners else None,
        }
        for place in sorted(group.committed.keys() | owners.keys())
    ]


def wait(one: Wait, seconds: float) -> dict[str, Any]:
    return {
        "holder": one.holder.member_id,
        "kind": one.kind.name.lower(),
        "partitions": sorted(map(str, one.partitions)),
        "waiting": [*one.waiting],
        "seen_s": seconds,
    }


def waiting(told: Waiting) -> dict[str, Any]:
    return {
        "group": told.view.group_id,
        "state": told.view.state,
        "seen_s": told.seen_s,
        "unknown": told.unknown or None,
        "blockers": [
            {
                **wait(blocker.wait, blocker.seen_s),
                "instance": blocker.holder.instance_id,
                "host": blocker.holder.host,
                "alive": blocker.is_alive or None,
                "removed_if_dead_within_s": blocker.removed_within_s,
            }
            for blocker in told.blockers
        ],
        "quiet": [quiet(one) for one in told.quiet],
    }


def quiet(one: QuietMember) -> dict[str, Any]:
    return {
        "member": one.member.member_id,
        "instance": one.member.instance_id,
        "host": one.member.host,
        "partitions": sorted(map(str, one.waiting)),
        "records": one.records,
        "seen_s": one.seen_s,
    }


def removal(outcome: Removal) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "member": outcome.member and outcome.member.member_id,
        "removed": outcome.removed,
        "error": type(outcome.error).__name__ if outcome.error else None,
        "message": str(outcome.error) if outcome.error else None,
    }


def plan(made: Plan) -> list[dict[str, Any]]:
    return [
        {
            "topic": change.partition.topic,
            "partition": change.partition.partition,
            "before": change.before,
            "after": change.after,
            "note": change.note or None,
        }
        for change in made.changes
    ]


def setting(one: Setting) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": one.value,
        "own": one.is_own,
        "default": one.default,
        "lowest": one.lowest,
        "highest": one.highest,
    }


def check(found: GroupCheck) -> dict[str, Any]:
    return {
        "group": found.view.group_id,
        "to": found.to,
        "ready": found.is_ready,
        "state": found.view.state,
        "protocol": found.view.protocol,
        "assignor": found.view.assignor,
        "members": [member(one) for one in found.view.members],
        "findings": [
            {
                "kind": one.kind.name,
                "severity": one.severity.value,
                "members": [*one.members],
                "sentence": one.sentence,
                "advice": one.advice,
            }
            for one in found.findings
        ],
        "unchecked": [*found.unchecked],
    }


def migration(seen: Migration) -> dict[str, Any]:
    return {
        "group": seen.view.group_id,
        "to": seen.to,
        "done": seen.is_done,
        "state": seen.view.state,
        "protocol": seen.view.protocol,
        "assignor": seen.view.assignor,
        "epoch": seen.view.epoch,
        "assignment_epoch": seen.view.assignment_epoch,
        "moved": seen.moved,
        "left": [one.name for one in seen.left],
        "missing": seen.missing,
        "still_s": seen.still_s,
        "members": [member(one) for one in seen.view.members],
    }
