"""What group coordinators write into a broker's log about any group, in Kafka 4's words: joins, ends, refusals, epochs."""

from __future__ import annotations

import enum
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from membership_client.debugger.model.broker_log import LogLine, log_lines
from membership_client.member_names import DEFAULT_CLIENT_IDS, with_member_id

_GROUP = r"\[Group(?:Id)? (?P<group>[^\]]+)\] "


class LogEventKind(enum.Enum):
    JOINED = "joined"
    LEFT = "left"
    AWAY = "left for a while"
    EXPIRED = "was removed because its session had expired"
    TOO_SLOW = "was removed because it did not follow a rebalance in time"
    REFUSED = "was refused its instance id"
    CHANGED = "changed its subscription"
    EPOCH = "a new epoch"


K = LogEventKind
_ID = r"(?P<member>\S+?)"
_PATTERNS: tuple[tuple[LogEventKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (K.JOINED, rf"{_GROUP}(?:Static member|Member) {_ID}(?: with instance id (?P<instance>\S+))? joins the consumer group"),
        (K.JOINED, rf"{_GROUP}Static member with instance id (?P<instance>\S+) re-joins the consumer group .* Created a new member {_ID} to replace"),
        (K.JOINED, rf"Pending dynamic member with id {_ID} joins group (?P<group>.+) in \w+ state\. Adding"),
        (K.JOINED, rf"Dynamic member with unknown member id joins group (?P<group>.+) in state \w+\. Created a new member id {_ID} and added"),
        (K.JOINED, rf"Static member with groupInstanceId=(?P<instance>\S+) and unknown member id joins group (?P<group>.+) in \w+ state\. Created a new member id {_ID} for this member and added"),
        (K.LEFT, rf"{_GROUP}(?:Dynamic |Static |Pending )?[Mm]ember {_ID}(?: with instance id (?P<instance>\S+))? has left group through explicit `LeaveGroup` request; client reason: (?P<reason>.*)"),
        (K.LEFT, rf"{_GROUP}(?:Static member|Member) {_ID}(?: with instance id (?P<instance>\S+))? left the consumer group"),
        (K.AWAY, rf"{_GROUP}Static member {_ID} with instance id (?P<instance>\S+) temporarily left"),
        (K.TOO_SLOW, rf"{_GROUP}Member {_ID} fenced from the group because (?P<reason>it failed to transition .*?)\.?$"),
        (K.TOO_SLOW, r"Group (?P<group>.+) removed (?:dynamic )?members who haven't (?:joined|sent their sync requests): \[?(?P<members>.*?)\]?$"),
        (K.EXPIRED, rf"{_GROUP}Member {_ID} fenced from the group because (?P<reason>.*?)\.?$"),
        (K.EXPIRED, rf"Member {_ID} in group (?P<group>.+) has failed, removing it from the group"),
        (K.REFUSED, rf"{_GROUP}Static member \S+ with instance id (?P<instance>\S+) (?:cannot join the group because the instance id is owned|is fenced) by (?:existing )?member {_ID}\.?$"),
        (K.CHANGED, rf"{_GROUP}Member {_ID} updated its subscribed (?:topics|regex) to: (?P<reason>.*?)\.?$"),
        (K.EPOCH, rf"{_GROUP}Bumped group epoch to (?P<epoch>\d+)"),
        (K.EPOCH, r"Preparing to rebalance group (?P<group>.+) in state \w+ with old generation (?P<generation>-?\d+) \(reason: (?P<reason>.*)\)\.?$"),
    )
)  # fmt: skip
_HINTS = ("ember", "epoch", "rebalance")
_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""A coordinator of a classic group makes a member's id of its client id, or instance id, and a UUID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """One line, and what it says."""

    kind: LogEventKind
    path: Path
    line: int
    time: float
    """As if the broker's clock showed UTC."""
    text: str
    """From the date on, as the broker wrote it."""
    group: str
    member_ids: tuple[str, ...] = ()
    instance_id: str | None = None
    reason: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class LoggedGroup:
    """All events of one group, in order of time."""

    name: str
    events: tuple[LogEvent, ...]
    names: Mapping[str, str]
    """Of members, by member id: the instance id; else, in a classic group, the client id; else what there is, the member id."""
    plain_names: Mapping[str, str]
    """The same for all members of one client id."""

    def names_of(self, event: LogEvent) -> list[str]:
        """The members that it is about."""
        return [self.names[each] for each in event.member_ids]

    def plain_names_of(self, event: LogEvent) -> list[str]:
        """The members that it is about, each by a name that it has again after a restart, if there is one."""
        return [self.plain_names[each] for each in event.member_ids]

    def named_in(self, text: str) -> str:
        """The text with names for member ids."""
        for member_id, name in self.names.items():
            text = text.replace(member_id, name)
        return text


def logged_groups_of(paths: Iterable[Path]) -> list[LoggedGroup]:
    """By name. BrokerLogError if a file cannot be read."""
    found: dict[str, list[LogEvent]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        for line in log_lines(path, _HINTS):
            if (event := _event(line)) is not None:
                found[event.group].append(event)
    return [_group(name, sorted(events, key=lambda event: event.time)) for name, events in sorted(found.items())]


def _event(line: LogLine) -> LogEvent | None:
    """None for a line about something else, and for one without a date."""
    if line.time is None:
        return None
    for kind, pattern in _PATTERNS:
        if (match := pattern.search(line.message)) is not None:
            said = match.groupdict()
            ids = [said.get("member"), *(said.get("members") or "").split(", ")]
            generation = said.get("generation")
            return LogEvent(
                kind=kind,
                path=line.path,
                line=line.number,
                time=line.time,
                text=line.text,
                group=said["group"],
                member_ids=tuple(each for each in ids if each),
                instance_id=said.get("instance"),
                reason=(said.get("reason") or "").strip(),
                epoch=int(generation) + 1 if generation else int(said.get("epoch") or 0),
            )
    return None


def _group(name: str, events: Sequence[LogEvent]) -> LoggedGroup:
    """Only some lines name the instance id of a member."""
    instances = {event.member_ids[0]: event.instance_id for event in events if event.instance_id and event.member_ids}
    ids = dict.fromkeys(each for event in events for each in event.member_ids)
    plain = {each: instances.get(each) or _plain_name(each) for each in ids}
    dynamic = Counter(plain[each] for each in ids if each not in instances)
    names = {
        each: known if each in instances or dynamic[known] == 1 else with_member_id(known, each)
        for each, known in plain.items()
    }
    return LoggedGroup(name, tuple(events), names, plain)


def _plain_name(member_id: str) -> str:
    """The client id in the id of a classic member; without one that the application chose, `member`."""
    client_id = _UUID.sub("", member_id)
    return "member" if client_id in DEFAULT_CLIENT_IDS or client_id == member_id else client_id
