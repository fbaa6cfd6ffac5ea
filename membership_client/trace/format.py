"""Version 1 of the trace format: the name of every class, field and enum value that a trace can hold.

A value of a class is a JSON object, whose `is` is the tag of the class. A record below lists the tag, the class, and the
fields in the order in which they are written. `...` means that a field is always written. Any other value is its default:
a field that is missing in a trace has that value, and the writer may leave it out.

Classes and fields may be renamed in the code; their names here stay, because traces of older releases have them:

    record("Polled", ApplicationPolled, at=...)       # the class has another name by now
    record("Polled", Polled, at=Renamed("time", ...))  # its field `at` has the name `time` by now
    enumeration("Budget", Budget, "POLL CLOSE", POLL="NEXT_POLL")  # Budget.POLL has the name NEXT_POLL by now

A new class or field gets an entry with a default. Older releases refuse a trace that has it, with the line. A change that
would make this release misread older traces needs a new VERSION. docs/trace-format.md is made of these tables.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

from membership_client.config import MemberConfig
from membership_client.core import events, member
from membership_client.core.backoff import Backoff
from membership_client.errors import Problem, ProblemKind
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import Cause, CauseKind, CloseStep, GroupProtocol, Holder, LeaveMode, MemberState, Node

VERSION = 1


class Renamed(NamedTuple):
    """A field whose attribute has another name in the code than in a trace."""

    attribute: str
    default: Any


class RecordFormat(NamedTuple):
    """A class in a trace, and its fields in the order in which they are written."""

    tag: str
    kind: type[Any]
    fields: Mapping[str, Any]

    def attribute(self, field: str) -> str:
        """The name of the field in the code."""
        entry = self.fields[field]
        return entry.attribute if isinstance(entry, Renamed) else field

    def default(self, field: str) -> Any:
        """The value of the field where a trace lacks it; `...` if no trace may lack it."""
        entry = self.fields[field]
        return entry.default if isinstance(entry, Renamed) else entry


class Enumeration(NamedTuple):
    """An enum in a trace, and the words for its members. The name is used in docs/trace-format.md, and not in traces."""

    name: str
    kind: type[enum.Enum]
    words: str
    renamed: Mapping[str, str]

    def members(self) -> dict[str, enum.Enum]:
        """The members of the enum, by their words in a trace."""
        return {word: self.kind[self.renamed.get(word, word)] for word in self.words.split()}


def record(tag: str, kind: type[Any], /, **fields: Any) -> RecordFormat:
    return RecordFormat(tag, kind, fields)


def enumeration(name: str, kind: type[enum.Enum], words: str, /, **renamed: str) -> Enumeration:
    return Enumeration(name, kind, words, renamed)


EVENTS = (
    record("Subscribe", events.Subscribe, topics=[], regex=None, named=[]),
    record("Unsubscribe", events.Unsubscribe, mode="DEFAULT", reason=None),
    record("Close", events.Close, mode="DEFAULT", reason=None, timeout_s=..., callback_timeout_s=None),
    record("Rebalance", events.Rebalance, reason=None),
    record("Polled", events.Polled, at=...),
    record("Answered", events.Answered, request_id=..., response=..., throttle_s=0.0),
    record("Failed", events.Failed, request_id=..., kind=..., detail=...),
    record("CallbackReturned", events.CallbackReturned, call_id=..., error=None, began_at=None, thread=None),
    record("CallbackDelayed", events.CallbackDelayed, call_id=..., since=..., why=...),
    record("CoordinatorDoubted", events.CoordinatorDoubted, node=...),
    record("MembershipDoubted", events.MembershipDoubted),
    record("KeeperReported", events.KeeperReported, asked_epoch=..., epoch=..., confirmed_at=None),
    record("SiblingChanged", events.SiblingChanged, change=..., epoch=...),
    record("Tick", events.Tick),
)

EFFECTS = (
    record("Send", events.Send, request_id=..., to=..., request=...),
    record("Disconnect", events.Disconnect, to=...),
    record(
        "RunCallback",
        events.RunCallback,
        call_id=...,
        kind=...,
        partitions=...,
        epoch=...,
        cause=...,
        deadline=...,
        provisional=...,
    ),
    record("TellLost", events.TellLost, call_id=...),
    record("LookAtCallback", events.LookAtCallback, call_id=..., spent_s=...),
    record("Warn", events.Warn, budget=..., spent_s=..., limit_s=..., call_id=None),
    record("Stop", events.Stop),
)

REQUESTS = (
    record("FindCoordinator", events.FindCoordinator, group_id=...),
    record(
        "Heartbeat",
        events.Heartbeat,
        group_id=...,
        member_id=...,
        epoch=...,
        instance_id=None,
        rack_id=None,
        rebalance_timeout_s=None,
        topics=None,
        regex=None,
        assignor=None,
        owned=None,
    ),
    record("LeaveGroup", events.LeaveGroup, group_id=..., member_id=..., instance_id=..., reason=...),
    record(
        "JoinGroup",
        events.JoinGroup,
        group_id=...,
        member_id=...,
        instance_id=...,
        session_timeout_s=...,
        rebalance_timeout_s=...,
        strategies=...,
        topics=...,
        owned=[],
        held=[],
        generation=-1,
        rack=None,
        reason="",
    ),
    record(
        "SyncGroup",
        events.SyncGroup,
        group_id=...,
        member_id=...,
        instance_id=...,
        generation=...,
        strategy=...,
        plan={},
    ),
    record("ClassicHeartbeat", events.ClassicHeartbeat, group_id=..., member_id=..., instance_id=..., generation=...),
    record("DescribeTopics", events.DescribeTopics, topics=...),
    record("ResolveTopics", events.ResolveTopics, topic_ids=...),
    record("DescribeGroup", events.DescribeGroup, group_id=...),
    record("DescribeClassicGroup", events.DescribeClassicGroup, group_id=...),
    record("DescribeSessionTimeout", events.DescribeSessionTimeout, group_id=...),
)
"""Requests that the state machine sends. Commits, lookups of offsets and administration are not part of a trace's steps."""

RESPONSES = (
    record("CoordinatorFound", events.CoordinatorFound, node=...),
    record("HeartbeatAccepted", events.HeartbeatAccepted, epoch=..., interval_s=..., assignment=None),
    record("GroupLeft", events.GroupLeft),
    record("MemberIdGiven", events.MemberIdGiven, member_id=...),
    record(
        "GroupJoined",
        events.GroupJoined,
        generation=...,
        member_id=...,
        leader_id=...,
        strategy=...,
        members=[],
        skip_assignment=False,
    ),
    record("GroupSynced", events.GroupSynced, share=..., readable=True),
    record("HeartbeatConfirmed", events.HeartbeatConfirmed),
    record("TopicsDescribed", events.TopicsDescribed, layouts=..., denied=[], unknown=[]),
    record("TopicsResolved", events.TopicsResolved, names=...),
    record("GroupDescribed", events.GroupDescribed, members=..., state="", epoch=-1, assignment_epoch=-1, assignor=""),
    record("SessionTimeoutDescribed", events.SessionTimeoutDescribed, session_timeout_s=...),
    record("Refused", events.Refused, code=..., message=None),
)

PARTS = (
    record("Node", Node, host=..., port=..., node_id=-1),
    record("Cause", Cause, kind=..., detail=...),
    record("Problem", Problem, kind=..., detail=..., number=0, epoch=None, holder=None),
    record("Holder", Holder, member_id=..., client_id=..., host=...),
    record("TopicLayout", TopicLayout, partitions=..., racks=[], topic_id=None),
    record(
        "MemberSubscription",
        MemberSubscription,
        member_id=...,
        topics=...,
        instance_id=None,
        owned=[],
        generation=-1,
        rack=None,
    ),
    record(
        "DescribedMember",
        events.MemberDescription,
        member_id=...,
        instance_id=...,
        client_id=...,
        host=...,
        epoch=-1,
        current=[],
        target=[],
        topics=[],
        regex="",
        is_classic=False,
        has_assignor_data=False,
    ),
)
"""Records that are values of other records' fields."""

_BACKOFF = {"is": "Pace"}

START = (
    record(
        "Member",
        member.Member,
        config=...,
        member_id=...,
        state="UNSUBSCRIBED",
        epoch=0,
        enrolled=False,
        subscription=None,
        cause=None,
        problem=None,
        coordinator=None,
        interval_s=5.0,
        heartbeat_due=0.0,
        confirmed_at=None,
        accepted=None,
        stated=None,
        denied_until=None,
        denial_pace=Renamed("denial_backoff", _BACKOFF),
        owed_gap_s=None,
        prompt={"is": "Prompt"},
        settled=None,
        classic={"is": "Classic", "topic_ids": {}},
        target=None,
        targets=0,
        reconciled=0,
        owned={},
        names={},
        greeted=False,
        call=None,
        call_pace=Renamed("call_backoff", _BACKOFF),
        dialogue=None,
        dialogue_pace=Renamed("dialogue_backoff", _BACKOFF),
        pulse=Renamed("join_keepalive", None),
        lookup=None,
        lookup_pace=Renamed("lookup_backoff", _BACKOFF),
        naming=None,
        naming_pace=Renamed("naming_backoff", _BACKOFF),
        survey=None,
        survey_pace=Renamed("survey_backoff", _BACKOFF),
        checking=None,
        topic_check={"is": "TopicCheck", "missing": {}},
        departure=None,
        contest=Renamed("id_conflict", None),
        fences=0,
        polled_at=None,
        poll_warnings=0,
        closed=None,
        ids=0,
    ),
    record(
        "MemberConfig",
        MemberConfig,
        bootstrap_servers=...,
        group_id=...,
        group_protocol="auto",
        group_instance_id=None,
        group_instance_id_conflict="wait",
        group_remote_assignor=None,
        partition_assignment_strategy=["range", "cooperative-sticky"],
        session_timeout_ms=45_000,
        heartbeat_interval_ms=3_000,
        metadata_max_age_ms=300_000,
        client_id="membership-client",
        client_rack=None,
        max_poll_interval_ms=300_000,
        request_timeout_ms=10_000,
        socket_connection_setup_timeout_ms=10_000,
        retry_backoff_ms=100,
        retry_backoff_max_ms=1_000,
        retry_when_full_s=None,
        callback_errors="raise",
        trace_file=None,
        trace_file_max_bytes=10_000_000,
        trace_file_keep=3,
        enable_metrics_push=True,
        telemetry_member_id_label=False,
        heartbeat_keeper="off",
    ),
    record(
        "Classic",
        member.Classic,
        given_id="",
        reason="",
        rejoin=None,
        admission=None,
        leads=False,
        planned_in=-1,
        held=[],
        layouts=None,
        watched=[],
        planned_by=None,
        survey_due=0.0,
        check_at=None,
        misfits=[],
        mismatched_at=None,
        topic_ids={},
        replaced=[],
        unidentified=False,
        calm_at=None,
    ),
    record("Claims", member.Claims, subscription=..., owned=..., reconciled=...),
    record("Pace", Backoff, failures=0, not_before="-inf"),
    record("Prompt", member.Prompt, due=None, needless_from=None, repeat_since=None, told_epoch=0, not_before="-inf"),
    record("Target", member.Target, partitions=..., number=..., follow_up=False),
    record("InFlight", member.InFlight, request_id=..., request=..., to=..., sent_at=..., claims=None, enrolled=False),
    record(
        "RunningCall",
        member.RunningCall,
        call_id=...,
        kind=...,
        partitions=...,
        began_at=...,
        warned=False,
        looks=0,
        delayed=None,
    ),
    record(
        "TopicCheck",
        member.TopicCheck,
        topics=[],
        due=None,
        missing={},
        unnamed=[],
    ),
    record(
        "Contest",
        member.IdConflict,
        step=...,
        since=...,
        give_up_at=...,
        detail=...,
        epoch=0,
        holder=None,
    ),
    record(
        "Departure",
        member.Departure,
        mode=...,
        reason=...,
        cause=...,
        began_at=...,
        give_up_at=...,
        ending=...,
        callback_timeout_s=None,
        closes=False,
        problem=None,
        telling_since=None,
        reason_refused=False,
        outcome=None,
        clean=True,
        warned=False,
        steps=[],
    ),
    record("CloseStep", CloseStep, name=..., seconds=..., outcome=...),
)
"""Records in `start` of a header: the member when the section began."""

ENUMERATIONS = (
    enumeration("MemberState", MemberState, "UNSUBSCRIBED JOINING RECONCILING ACK STABLE LEAVING STALE FENCED FATAL"),
    enumeration("GroupProtocol", GroupProtocol, "CONSUMER CLASSIC"),
    enumeration("LeaveMode", LeaveMode, "DEFAULT LEAVE REMAIN TEMPORARY"),
    enumeration("CallbackKind", events.CallbackKind, "ASSIGNED REVOKED LOST"),
    enumeration("Budget", events.Budget, "POLL CALLBACK CLOSE"),
    enumeration("SiblingChange", events.SiblingChange, "NEW_EPOCH GAVE_BACK LEFT JOINS"),
    enumeration("IdConflictStep", member.IdConflictStep, "IDENTIFY MEASURE RELEASE RETRY"),
    enumeration(
        "FailureKind",
        events.FailureKind,
        "UNREACHABLE DISCONNECTED TIMED_OUT NOT_KAFKA AUTHENTICATION UNTRUSTED UNSUPPORTED UNENCODABLE",
    ),
    enumeration(
        "CauseKind",
        CauseKind,
        "JOINED SUBSCRIPTION_CHANGED GROUP_CHANGED FENCED POLL_INTERVAL_EXCEEDED UNSUBSCRIBED CLOSED CALLBACK_FAILED "
        "FATAL",
    ),
    enumeration(
        "ProblemKind",
        ProblemKind,
        "UNREACHABLE NOT_KAFKA REJECTED CALLBACK_FAILED TOPIC_DENIED UNKNOWN_TOPIC WAITING_FOR_INSTANCE_ID "
        "WAITING_FOR_ROOM FENCED_INSTANCE_ID INSTANCE_ID_IN_USE GROUP_FULL GROUP_DENIED CLUSTER_DENIED AUTHENTICATION "
        "UNTRUSTED INVALID_REGEX UNSUPPORTED_ASSIGNOR NO_COMMON_STRATEGY ASSIGNOR_FAILED UNREADABLE_ASSIGNMENT "
        "SESSION_TIMEOUT_REFUSED GROUP_TYPE BROKER_TOO_OLD UNEXPECTED CRASHED",
    ),
)

PARTITION_FIELDS = frozenset({"owned", "assignment", "partitions"})
"""Fields with ranges of partitions by topic id: a few letters of text can stand for millions of partitions."""

RECORDS: dict[type[Any], RecordFormat] = {
    each.kind: each for each in (*EVENTS, *EFFECTS, *REQUESTS, *RESPONSES, *PARTS, *START)
}
ENUMS: dict[type[enum.Enum], Enumeration] = {each.kind: each for each in ENUMERATIONS}
