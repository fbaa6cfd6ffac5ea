"""A run as text for people: each event of a member, the changes, and the effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from membership_client.core.error_codes import code_name
from membership_client.core.events import (
    Answered,
    CallbackDelayed,
    CallbackReturned,
    ClassicHeartbeat,
    Close,
    CommitOffsets,
    CoordinatorDoubted,
    CoordinatorFound,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    DescribeTopics,
    Disconnect,
    Effect,
    Event,
    Failed,
    FetchOffsets,
    FindCoordinator,
    GroupDescribed,
    GroupJoined,
    GroupLeft,
    GroupSynced,
    Heartbeat,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    JoinGroup,
    KeeperReported,
    LeaveGroup,
    LookAtCallback,
    MemberIdGiven,
    MembershipDoubted,
    OffsetsCommitted,
    OffsetsFetched,
    OutsideRequest,
    OutsideResponse,
    Polled,
    Rebalance,
    Refused,
    Request,
    ResolveTopics,
    Response,
    RunCallback,
    Send,
    SessionTimeoutDescribed,
    SiblingChanged,
    Stop,
    Subscribe,
    SyncGroup,
    TellLost,
    Tick,
    TopicsDescribed,
    TopicsResolved,
    Unsubscribe,
    Warn,
)
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.partitions import Partitions, ranges, shares
from membership_client.types import LeaveMode, TopicPartition

Names = Mapping[UUID, str]

_INDENT = " " * 17


def render_line(at: float, who: str, text: str) -> str:
    return f"{at:9.3f}  {who:<4}  {text}"


def render_step(who: str, taken: Step, names: Names) -> list[str]:
    """The event on one line, then what changed, then one line per effect."""
    lines = [render_line(taken.at, who, describe_event(taken.event, names))]
    if changed := changes(taken.before, taken.after, names):
        lines.append(f"{_INDENT}= {', '.join(changed)}")
    lines += [f"{_INDENT}> {describe_effect(effect, names)}" for effect in taken.effects]
    return lines


def changes(before: Member, after: Member, names: Names) -> list[str]:
    """The changes that a reader wants to see."""
    found = []
    if after.state is not before.state:
        found.append(after.state.name)
    if after.epoch != before.epoch:
        found.append(f"epoch {after.epoch}")
    if after.owned != before.owned:
        found.append(f"owns {describe_partitions(after.owned, names)}")
    if after.problem != before.problem:
        found.append(f"problem: {after.problem.detail}" if after.problem else "no problem")
        if after.problem and after.problem.holder:
            found.append(f"holder: {after.problem.holder}")
    if after.closed is not None:
        found.append(f"closed {'cleanly' if after.closed.clean else 'incompletely'}")
    return found


# --- partitions ------------------------------------------------------------------------------------------------------


def describe_partitions(partitions: Partitions, names: Names) -> str:
    shares = sorted((names.get(topic, str(topic)), numbers) for topic, numbers in partitions.by_topic.items())
    return " ".join(f"{name}[{ranges(numbers)}]" for name, numbers in shares) or "nothing"


def _describe_named(partitions: Iterable[TopicPartition]) -> str:
    return " ".join(shares(partitions)) or "nothing"


# --- events ----------------------------------------------------------------------------------------------------------


def describe_event(event: Event, names: Names) -> str:  # noqa: C901, PLR0911 - one per event
    match event:
        case Subscribe():
            return f"subscribe {event.regex or ' '.join(sorted(event.topics))}"
        case Unsubscribe() | Close():
            return _describe_going(event)
        case Rebalance():
            return f"rebalance{f': {event.reason}' if event.reason else ''}"
        case Answered():
            throttled = f", throttled {event.throttle_s:g} s" if event.throttle_s else ""
            return f"answer to {event.request_id}: {describe_response(event.response, names)}{throttled}"
        case Failed():
            return f"no answer to {event.request_id}: {event.kind.value}: {event.detail}"
        case CallbackReturned():
            return f"call {event.call_id} {'raised ' + event.error if event.error else 'returned'}"
        case CallbackDelayed():
            return f"call {event.call_id} cannot begin: {event.why}"
        case CoordinatorDoubted():
            return f"{event.node.host} is not the coordinator, says a commit"
        case MembershipDoubted():
            return "a commit was refused as one of no member"
        case KeeperReported():
            return f"the keeper was asked under epoch {event.asked_epoch}, and was told {event.epoch}"
        case SiblingChanged():
            return f"a sibling at epoch {event.epoch}: {event.change.value}"
        case Polled() | Tick():
            return type(event).__name__.lower()


def _describe_going(event: Unsubscribe | Close) -> str:
    what = "close" if isinstance(event, Close) else "unsubscribe"
    mode = "" if event.mode is LeaveMode.DEFAULT else f" ({event.mode.value})"
    return f"{what}{mode}{f': {event.reason}' if event.reason else ''}"


def describe_response(response: Response, names: Names) -> str:
    match response:
        case HeartbeatAccepted():
            return _describe_acceptance(response, names)
        case GroupDescribed():
            members = (f"{m.member_id}{f' as {m.instance_id}' if m.instance_id else ''}" for m in response.members)
            return f"in the group: {', '.join(members) or 'no members'}"
        case Refused():
            return f"{code_name(response.code)}{f': {response.message}' if response.message else ''}"
        case TopicsResolved():
            return f"named {' '.join(sorted(response.names.values())) or 'nothing'}"
        case GroupJoined() | GroupSynced() | MemberIdGiven() | HeartbeatConfirmed() | TopicsDescribed():
            return _describe_classic(response)
        case _:
            return _describe_short(response)


def _describe_classic(
    response: GroupJoined | GroupSynced | MemberIdGiven | HeartbeatConfirmed | TopicsDescribed,
) -> str:
    match response:
        case GroupJoined():
            role = "follow" if not response.leads else "lead, the plan stands" if response.skip_assignment else "lead"
            return f"generation {response.generation} by {response.strategy}, {role}"
        case GroupSynced():
            return f"have {_describe_named(tuple(response.share))}"
        case MemberIdGiven():
            return f"join as {response.member_id}"
        case HeartbeatConfirmed():
            return "no news"
        case TopicsDescribed():
            topics = (f"{name}:{layout.partitions}" for name, layout in sorted(response.layouts.items()))
            return f"topics {' '.join(topics) or 'none'}"


def _describe_short(
    response: CoordinatorFound
    | GroupLeft
    | SessionTimeoutDescribed
    | OffsetsCommitted
    | OffsetsFetched
    | OutsideResponse,
) -> str:
    match response:
        case OffsetsCommitted():
            return f"{len(response.codes)} offsets, {len([c for c in response.codes.values() if c])} refused"
        case OffsetsFetched():
            return f"{len(response.offsets)} offsets, {len(response.codes)} refused"
        case CoordinatorFound():
            return f"{response.node.host} coordinates"
        case SessionTimeoutDescribed():
            return f"sessions last {response.session_timeout_s:g} s"
        case GroupLeft():
            return "left"
        case OutsideResponse():
            return type(response).__name__


def _describe_acceptance(response: HeartbeatAccepted, names: Names) -> str:
    if response.epoch < 0:
        return f"epoch {response.epoch}"
    news = "no news" if response.assignment is None else f"have {describe_partitions(response.assignment, names)}"
    return f"epoch {response.epoch}, every {response.interval_s:g} s, {news}"


# --- effects ---------------------------------------------------------------------------------------------------------


def describe_effect(effect: Effect, names: Names) -> str:  # noqa: PLR0911 - one per kind of effect
    match effect:
        case Send():
            to = effect.to.host if effect.to else "any broker"
            return f"{effect.request_id} to {to}: {describe_request(effect.request, names)}"
        case Disconnect():
            return f"drop the connection to {effect.to.host if effect.to else 'the bootstrap broker'}"
        case RunCallback():
            provisional = ", provisional" if effect.provisional else ""
            return f"call {effect.call_id}: {effect.kind.value} {_describe_named(effect.partitions)}{provisional}"
        case TellLost():
            return f"tell call {effect.call_id} that its partitions are lost"
        case Warn():
            return f"warn: {effect.spent_s:g} s of {effect.limit_s:g} s for {effect.budget.value} are used up"
        case LookAtCallback():
            return f"look at the thread of call {effect.call_id} after {effect.spent_s:g} s"
        case Stop():
            return "stop"


def describe_request(request: Request, names: Names) -> str:  # noqa: PLR0911 - one per kind of request
    match request:
        case FindCoordinator():
            return "who coordinates?"
        case Heartbeat():
            return f"heartbeat{_describe_heartbeat(request, names)}"
        case LeaveGroup():
            return f"leave{f': {request.reason}' if request.reason else ''}"
        case ResolveTopics():
            topics = " ".join(sorted(names.get(topic, str(topic)) for topic in request.topic_ids))
            return f"what is the name of ({topics})?"
        case DescribeGroup() | DescribeClassicGroup():
            return "who is in the group?"
        case JoinGroup() | SyncGroup() | ClassicHeartbeat() | DescribeTopics():
            return _describe_classic_request(request)
        case _:
            return _describe_short_request(request)


def _describe_classic_request(request: JoinGroup | SyncGroup | ClassicHeartbeat | DescribeTopics) -> str:
    match request:
        case JoinGroup():
            owns = f", owns {_describe_named(tuple(request.owned))}" if request.owned else ""
            who = f" as {request.instance_id}" if request.instance_id else ""
            return f"join{who}, wants {' '.join(sorted(request.topics))}{owns}: {request.reason}"
        case SyncGroup():
            return f"sync generation {request.generation}{', with the plan' if request.plan else ''}"
        case ClassicHeartbeat():
            return f"heartbeat generation {request.generation}"
        case DescribeTopics():
            return f"how are the topics {'' if request.topics is None else ' '.join(sorted(request.topics))}?"


def _describe_short_request(request: DescribeSessionTimeout | CommitOffsets | FetchOffsets | OutsideRequest) -> str:
    match request:
        case DescribeSessionTimeout():
            return "how long is a session?"
        case CommitOffsets():
            return f"commit {len(request.offsets)} offsets"
        case FetchOffsets():
            return f"what was committed for {len(request.partitions)} partitions?"
        case OutsideRequest():
            return type(request).__name__


def _describe_heartbeat(request: Heartbeat, names: Names) -> str:
    says = [f" epoch {request.epoch}"]
    if request.epoch < 0:
        says.append(f"for {request.member_id}")
    if request.instance_id is not None:
        says.append(f"as {request.instance_id}")
    if request.rebalance_timeout_s is not None:
        says.append("in full")
    if request.topics is not None or request.regex:
        says.append(f"wants {request.regex or ' '.join(request.topics or ())}")
    if request.owned is not None:
        says.append(f"owns {describe_partitions(request.owned, names)}")
    return ", ".join(says)
