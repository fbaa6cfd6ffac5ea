"""A group as lines of text: the output of the commands without `--json`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from membership_client.admin.quiet import QUIET_S, QuietMember
from membership_client.admin.views import LEFT_TEMPORARILY, GroupView, MemberView, Wait, WaitKind
from membership_client.admin.waiting import CLASSIC_IS_SILENT, Blocker, ObservedGroup, Waiting
from membership_client.partitions import named
from membership_client.types import TopicPartition

_MEMBERS = ("MEMBER", "MEMBER ID", "HOST", "EPOCH", "HAS", "SHOULD HAVE", "LAG")
_OFFSETS = ("PARTITION", "COMMITTED", "END", "LAG", "OWNER")
_REBALANCE_S = 300
"""The default of max.poll.interval.ms, in Kafka's Java client and here."""


def lines(watched: ObservedGroup, width: int | None = None) -> list[str]:
    """The group, a table of its members, and the members that it waits for, in lines of at most `width` letters."""
    parts = [[title(watched.view)], [""], members(watched.view, width), [""], _waits(watched)]
    return [line for part in parts for text in part for line in folded(text, width)]


def folded(text: str, width: int | None) -> list[str]:
    """The text in lines of at most `width`. An empty text is one empty line."""
    if not width or len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False) or [""]


def title(view: GroupView) -> str:
    epochs = "" if view.epoch is None else f", epoch {view.epoch}, assignment of epoch {view.assignment_epoch}"
    lag = f", lag {sum(lags.values())}" if (lags := view.lag) else ""
    where = f", coordinator {view.coordinator} ({view.coordinator.node_id})" if view.coordinator else ""
    about = f"{view.state}, {view.protocol} protocol, {view.assignor or 'no'} assignor"
    return f"{view.group_id}: {about}{epochs}{lag}{where}"


_DISPENSABLE = ("MEMBER ID", "HOST", "EPOCH", "LAG", "SHOULD HAVE")
"""Columns that are left out in a narrow terminal, in this order. `--json` has all."""
_NARROWEST = 20


def members(view: GroupView, width: int | None = None) -> list[str]:
    """A table of the members. If it is wider than `width`, columns are left out, and then long cells are cut."""
    lag = view.lag
    return fitting(_MEMBERS, [_member(member, lag) for member in view.members], _DISPENSABLE, width)


def fitting(
    head: Sequence[str], rows: Sequence[Sequence[object]], dispensable: Sequence[str], width: int | None
) -> list[str]:
    """A table. If it is wider than `width`, dispensable columns are left out one after the other, and then long cells are cut."""
    if width is None:
        return table(head, rows)
    shown = list(range(len(head)))
    for column in (None, *map(head.index, dispensable)):
        shown = [each for each in shown if each != column]
        found = table([head[each] for each in shown], [[row[each] for each in shown] for row in rows])
        if max(map(len, found)) <= width:
            return found
    longest = max(_NARROWEST, width) // len(shown) - 2
    return table([head[each] for each in shown], [[_cut(_cell(row[each]), longest) for each in shown] for row in rows])


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _member(member: MemberView, lag: Mapping[TopicPartition, int]) -> Sequence[object]:
    known = [lag[partition] for partition in member.current if partition in lag]
    return (
        member.name,
        member.member_id,
        member.host.removeprefix("/"),
        "left" if member.epoch == LEFT_TEMPORARILY else member.epoch,
        named(member.current),
        "the same" if member.target == member.current else named(member.target),
        sum(known) if known else None,
    )


def subscriptions(view: GroupView) -> list[str]:
    """One line for each member whose subscription the coordinator reports."""
    wanted = ((m.name, " ".join(sorted(m.topics)), m.regex) for m in view.members)
    return [
        f"{name} subscribes to {' and '.join(filter(None, (topics, regex and f'/{regex}/')))}."
        for name, topics, regex in wanted
        if topics or regex
    ]


def offsets(view: GroupView) -> list[str]:
    """A table of all partitions with an owner or a committed offset."""
    places = sorted(view.committed.keys() | view.owners.keys())
    committed = {partition: offset.offset for partition, offset in view.committed.items()}
    owners = {partition: member.name for partition, member in view.owners.items()}
    lag = view.lag
    return table(_OFFSETS, ((p, committed.get(p), view.ends.get(p), lag.get(p), owners.get(p)) for p in places))


def _waits(watched: ObservedGroup) -> list[str]:
    if watched.view.protocol == "classic":
        return [f"{CLASSIC_IS_SILENT} The group is {watched.view.state}{_since(watched.seen_s)}."]
    return [f"{_wait(wait, seconds)}." for wait, seconds in watched.waits] or ["The group waits for no member."]


def _wait(wait: Wait, seconds: float) -> str:
    who = f"{', '.join(wait.waiting)} waits" if len(wait.waiting) == 1 else f"{', '.join(wait.waiting)} wait"
    host = wait.holder.host.removeprefix("/")
    whom = wait.holder.name if host in wait.holder.name else f"{wait.holder.name} ({host})"
    return f"{who if wait.waiting else 'The group waits'} for {whom} {_what(wait)}{_since(seconds)}"


def _what(wait: Wait) -> str:
    if not wait.is_certain:
        return f"{WaitKind.ANSWER.value}, and perhaps {wait.kind.value} {named(wait.partitions)}"
    if wait.kind is not WaitKind.ANSWER:
        return f"{wait.kind.value} {named(wait.partitions)}"
    return f"{wait.kind.value}, and then work on {named(wait.partitions)}" if wait.partitions else wait.kind.value


def _since(seconds: float) -> str:
    return f", seen for {seconds:.0f} s" if seconds >= 1 else ""


def waiting_lines(waiting: Waiting) -> list[str]:
    """The members that the group waits for, and how long that can last."""
    state = f"{waiting.view.group_id} is {waiting.view.state}{_since(waiting.seen_s)}."
    if waiting.unknown:
        return [state, waiting.unknown]
    told = [line for blocker in waiting.blockers for line in blocker_lines(blocker)]
    quiet = [line for one in waiting.quiet for line in quiet_lines(one, waiting.session_timeout_s)]
    return [state, *(told or ["The group waits for no member."]), *(quiet or _unobserved(waiting))]


def quiet_lines(quiet: QuietMember, session_timeout_s: float | None) -> list[str]:
    """What is known of a member that commits nothing although records wait for it."""
    who = f"{quiet.member.name} ({quiet.member.host.removeprefix('/')})"
    records = f"{quiet.records} record{'s' * (quiet.records != 1)} of {named(quiet.waiting)}"
    return [
        f"{who} committed nothing for {quiet.seen_s:.0f} s although {records} wait{'s' * (quiet.records == 1)} for it.",
        f"  {_why(quiet, session_timeout_s)}",
    ]


def _why(quiet: QuietMember, session_timeout_s: float | None) -> str:
    known = session_timeout_s is not None and not quiet.member.is_classic
    if known and quiet.seen_s > (session_timeout_s or 0.0):
        return "It has been a member for longer than a session, so it sends heartbeats: its application is stuck, or commits later."
    limit = f"in at most {session_timeout_s:.0f} s" if known else "when its session ends"
    refused = (
        f", and until then refuses another process the instance id {quiet.member.instance_id}"
        if quiet.member.instance_id is not None
        else ""
    )
    return (
        f"Its process is stopped or dead, or still processes one record, or commits later. If it sends no heartbeats, the coordinator "
        f"removes it {limit}{refused}."
    )


def _unobserved(waiting: Waiting) -> list[str]:
    """Advice to look for longer: coordinators do not report heartbeats, so only offsets over some time show a member that is stuck."""
    lag, members = waiting.view.lag, waiting.view.members
    behind = [member.name for member in members if any(lag.get(place) for place in member.current)]
    if waiting.blockers or not behind or waiting.seen_s >= QUIET_S:
        return []
    whom = f"{', '.join(behind[:_MOST_NAMES])}{' and others' if len(behind) > _MOST_NAMES else ''}"
    return [f"Records wait for {whom}. To see whether these are processed, look for longer: --watch 10."]


_MOST_NAMES = 5


def blocker_lines(blocker: Blocker) -> list[str]:
    """The member that the group waits for, and when the coordinator ends the wait."""
    return [f"{_wait(blocker.wait, blocker.seen_s)}.", f"  {_patience(blocker)}"]


def _patience(blocker: Blocker) -> str:
    """When the coordinator will end the wait."""
    match blocker.wait.kind:
        case WaitKind.RETURN:
            return _if_dead(blocker)
        case WaitKind.ANSWER:
            return f"{_if_dead(blocker)} If it is alive, its next heartbeat ends the wait."
        case WaitKind.RELEASE:
            return f"{_if_dead(blocker)} {_rebalance(blocker)}"


def _if_dead(blocker: Blocker) -> str:
    if_dead = "does not come back" if blocker.wait.kind is WaitKind.RETURN else "is dead"
    if blocker.removed_within_s is not None:
        return f"If it {if_dead}, the coordinator removes it in at most {blocker.removed_within_s:.0f} s."
    if blocker.is_alive:
        return "It is alive: it has been a member for longer than a session."
    if blocker.is_overdue:
        return "Its session should have ended by now; a session starts again when the coordinator moves."
    if blocker.holder.is_classic:
        return "It is a classic member, whose session timeout the coordinator does not report."
    return "The group's session timeout is not known."


def _rebalance(blocker: Blocker) -> str:
    left_s = max(0.0, _REBALANCE_S - blocker.seen_s)
    return (
        f"{'It' if blocker.is_alive else 'If it is alive, it'} may take its max.poll.interval.ms, which the coordinator does not report: "
        f"at most {left_s:.0f} s more if that is the default of {_REBALANCE_S} s."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows in columns. `None` and empty cells are shown as a dash."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else str(value)
