"""A group as lines of text, for a terminal; and as JSON, for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from membership_client.admin.views import GroupView, MemberView, Wait
from membership_client.admin.watching import Watched
from membership_client.trace.values import shares
from membership_client.types import TopicPartition

_HEAD = ("MEMBER", "INSTANCE ID", "CLIENT", "HOST", "EPOCH", "HAS", "SHOULD HAVE", "LAG")


def lines(watched: Watched) -> list[str]:
    """The group, a table of its members, and who is waited for."""
    return [_title(watched.view), "", *_table(watched.view), "", *_waits(watched)]


def _title(view: GroupView) -> str:
    epochs = "" if view.epoch is None else f", epoch {view.epoch}, assignment of epoch {view.assignment_epoch}"
    lag = f", lag {sum(view.lag.values())}" if view.lag else ""
    return f"{view.group_id}: {view.state}, {view.protocol} protocol, {view.assignor or 'no'} assignor{epochs}{lag}"


def _table(view: GroupView) -> list[str]:
    rows = [_HEAD, *(_row(member, view) for member in view.members)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(member: MemberView, view: GroupView) -> Sequence[str]:
    lag = sum(view.lag.get(partition, 0) for partition in member.current)
    known = any(partition in view.lag for partition in member.current)
    return (
        member.member_id,
        member.instance_id or "-",
        member.client_id,
        member.host.removeprefix("/"),
        "-" if member.epoch is None else str(member.epoch),
        named(member.current),
        "the same" if member.target == member.current else named(member.target),
        str(lag) if known else "-",
    )


def named(partitions: Iterable[TopicPartition]) -> str:
    """`bills[0] orders[0-3,7]`."""
    return " ".join(shares(partitions)) or "nothing"


def _waits(watched: Watched) -> list[str]:
    if watched.view.protocol == "classic":
        return ["The coordinator of a classic group does not tell who is waited for."]
    if not watched.waits:
        return ["Nobody is waited for."]
    return [_wait(wait, seconds) for wait, seconds in watched.waits]


def _wait(wait: Wait, seconds: float) -> str:
    who = f"{', '.join(wait.waiting)} waits" if len(wait.waiting) == 1 else f"{', '.join(wait.waiting)} wait"
    whom = f"{wait.holder.name} ({wait.holder.host.removeprefix('/')})"
    since = f"seen for {seconds:.0f} s"
    return f"{who if wait.waiting else 'The group waits'} for {whom} to release {named(wait.partitions)}, {since}."


def as_json(watched: Watched) -> dict[str, Any]:
    """Plain values, partitions as `topic-number`."""
    view = watched.view
    return {
        "group": view.group_id,
        "protocol": view.protocol,
        "state": view.state,
        "epoch": view.epoch,
        "assignment_epoch": view.assignment_epoch,
        "assignor": view.assignor,
        "members": [_member_json(member) for member in view.members],
        "lag": {str(partition): lag for partition, lag in sorted(view.lag.items())},
        "waits": [_wait_json(wait, seconds) for wait, seconds in watched.waits],
    }


def _member_json(member: MemberView) -> dict[str, Any]:
    return {
        "member": member.member_id,
        "instance": member.instance_id,
        "client": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "current": sorted(map(str, member.current)),
        "target": sorted(map(str, member.target)),
    }


def _wait_json(wait: Wait, seconds: float) -> dict[str, Any]:
    return {
        "holder": wait.holder.member_id,
        "partitions": sorted(map(str, wait.partitions)),
        "waiting": list(wait.waiting),
        "seen_s": seconds,
    }
