"""What a member does at this moment, what it waits for and what to do about it: the text of `explain()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from membership_client.core.events import ClassicHeartbeat, Heartbeat, JoinGroup, SyncGroup
from membership_client.core.member import IN_GROUP, Member
from membership_client.core.topic_check import missing_problem
from membership_client.core.view import has_lost, is_unconfirmed, unconfirmed_s
from membership_client.errors import error_for
from membership_client.partitions import counted, named
from membership_client.rebalance_report import RebalanceReport
from membership_client.runtime.local_name import local_name
from membership_client.types import Delay, GroupProtocol, MemberState
from membership_client.values import dataclass

S = MemberState

_POLLS_LATE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the text tells besides the state of the member."""

    now: float
    state_since: float | None
    last: RebalanceReport | None
    last_ended_at: float | None
    polled_at: float | None
    """When the application last polled; None if it does not poll."""
    waits_for_poll: bool = False
    """True if the callback that is wanted has not begun, because a Consumer runs it in poll()."""
    callback_began_at: float | None = None
    """When a Consumer began the callback that runs; None if it did not wait for a poll, or still does."""
    is_subscribed: bool = False
    """True if the application called subscribe(), also if the membership thread has not processed that yet."""
    busy: str = ""
    """The stack of the thread that runs callbacks or works on records, as a clause; empty if it is not known."""


def explanation(member: Member, circumstances: Circumstances) -> str:
    """Lines of text: the state and since when, what is waited for, the last rebalance, and what to do."""
    waits_for, advice = _waits_for(member, circumstances)
    lines = [_state_line(member, circumstances), f"It waits for {waits_for or 'nothing'}."]
    lines += _poll_lines(member, circumstances)
    problem = member.problem or missing_problem(member)
    if problem is not None:
        error = error_for(problem, member.identity)
        lines.append(f"Problem: {problem.detail}")
        advice = error.advice or advice
    lines.append(_last_line(circumstances))
    lines.append(f"Do: {advice or 'nothing, all is well.'}")
    return "\n".join(lines)


def _state_line(member: Member, circumstances: Circumstances) -> str:
    who = f"{member.config.group_id}/{local_name(member)}"
    since = "" if circumstances.state_since is None else f" for {circumstances.now - circumstances.state_since:.1f} s"
    state = "closed" if member.closed is not None else member.state.value
    if _is_about_to_join(member, circumstances):
        state = "about to join"
    # It may have been in this state for longer than at this epoch.
    epoch = f"{',' if since else ''} at epoch {member.epoch}" if member.epoch > 0 else ""
    verb = "had" if member.owned and has_lost(member) else "owns"
    return f"{who} is {state}{since}{epoch}, and {verb} {named(member.owned.named(member.names))}."


def _is_about_to_join(member: Member, circumstances: Circumstances) -> bool:
    """Did the application subscribe, and the membership thread has not processed that yet?"""
    idle = member.call is None and member.departure is None and member.closed is None
    return member.state is S.UNSUBSCRIBED and circumstances.is_subscribed and idle


def _poll_lines(member: Member, circumstances: Circumstances) -> list[str]:
    polled_at, limit_s = circumstances.polled_at, member.poll_interval_s
    if polled_at is None or member.state not in IN_GROUP or circumstances.now - polled_at < _POLLS_LATE * limit_s:
        return []
    since_s = circumstances.now - polled_at
    return [
        f"The application has not polled for {since_s:.1f} s of the {limit_s:g} s of max.poll.interval.ms{circumstances.busy}."
    ]


def _last_line(circumstances: Circumstances) -> str:
    if circumstances.last is None or circumstances.last_ended_at is None:
        return "Last rebalance: none yet."
    return f"Last rebalance, {circumstances.now - circumstances.last_ended_at:.1f} s ago: {circumstances.last}."


# --- what is waited for, and what to do ------------------------------------------------------------------------------


_Wait = tuple[str | None, str | None]

_NEXT_STEP: _Wait = ("its membership thread, which takes the next step within milliseconds", None)
"""What the application did, and a callback's return, are known here before the membership thread has processed them."""


def _waits_for(member: Member, circumstances: Circumstances) -> _Wait:
    """What the member waits for and what to do; None for nothing."""
    if member.closed is not None:
        return None, None
    if member.call is not None:
        return _callback(member, circumstances)
    if (wait := _BY_MEMBER.get(member.state)) is not None:
        return wait(member, circumstances)
    return _ALWAYS[member.state]


def _callback(member: Member, circumstances: Circumstances) -> _Wait:
    call = member.call
    assert call is not None
    kind, which = call.kind.value, named(call.partitions.named(member.names))
    lasted = f"for {circumstances.now - (circumstances.callback_began_at or call.began_at):.1f} s"
    if call.delayed is not None:
        delay = Delay(call.delayed.why, circumstances.now - call.delayed.since)
        return f"the {kind} callback of {which}: {delay}", "look at what it waits for."
    if circumstances.waits_for_poll:
        advice = "poll more often, or wrap long work in consumer.hold()."
        return f"a call of poll(), {lasted}, to run the {kind} callback of {which}{circumstances.busy}", advice
    limit = f"the group waits at most {member.poll_interval_s:g} s for it."
    if has_lost(member):
        limit = "the partitions are lost already, and this member does not join again before it returns."
    advice = f"nothing, unless it should be quicker: {limit}"
    return f"the {kind} callback of {which} to return, {lasted}{circumstances.busy}", advice


def _answer(member: Member, circumstances: Circumstances) -> _Wait:
    flight = member.dialogue
    if member.coordinator is None:
        return (
            "a broker to name the coordinator of the group",
            "see that the brokers of bootstrap.servers can be reached.",
        )
    if flight is None:
        return "the time of its next request to the coordinator", None
    asked_s = circumstances.now - flight.sent_at
    match flight.request:
        case JoinGroup() | SyncGroup():
            whom = f"all other members to join again, for {asked_s:.1f} s"
            return whom, "if that takes long, look for a member that does not poll, or whose callback runs."
        case Heartbeat() | ClassicHeartbeat():
            return f"{member.coordinator} to answer the heartbeat that was sent {asked_s:.1f} s ago", None
        case _:
            return f"{member.coordinator} to answer what was asked {asked_s:.1f} s ago", None


def _joining(member: Member, circumstances: Circumstances) -> _Wait:
    if member.id_conflict is None:
        return _answer(member, circumstances)
    held_s = f"for {circumstances.now - member.id_conflict.since:.1f} s"
    holder = f", which {member.id_conflict.holder} holds" if member.id_conflict.holder else ""
    advice = "stop the other process, or give each process an instance id of its own."
    return f"the instance id {member.config.group_instance_id}{holder}, {held_s}", advice


def _unsubscribed(member: Member, circumstances: Circumstances) -> _Wait:
    if _is_about_to_join(member, circumstances):
        return _NEXT_STEP
    return "the application to subscribe", "call subscribe()."


def _reconciling(member: Member, circumstances: Circumstances) -> _Wait:
    if member.unresolved:
        return f"the names of {counted(len(member.unresolved), 'topic')} from the brokers", None
    if member.call_backoff.not_before > circumstances.now:
        return "the next attempt of the callback that raised", "mend the callback."
    return _NEXT_STEP


def _confirming(member: Member, circumstances: Circumstances) -> _Wait:
    if member.protocol is GroupProtocol.CLASSIC:
        return _answer(member, circumstances)
    return f"{member.coordinator or 'a coordinator'} to confirm its partitions", None


def _stable(member: Member, circumstances: Circumstances) -> _Wait:
    if is_unconfirmed(member, circumstances.now):
        silent_s = unconfirmed_s(member, circumstances.now)
        whom = member.coordinator or "a coordinator"
        return (
            f"{whom} to answer: the last confirmation is {silent_s:.1f} s old",
            "look at the network and at that broker.",
        )
    if member.owned:
        return None, None
    command = f"membership-client groups waiting {member.config.group_id}"
    if member.owed_gap_s is not None:
        what = "partitions, which the coordinator is still to assign or other members are to release"
        return what, f"if that takes long: {command}"
    # Neither protocol tells a member whether it is a standby or another member has not released its partitions yet.
    advice = (
        f"nothing, if it is to be a standby; `{command}` tells whether another member still holds partitions for it."
    )
    return "partitions: it has none, and none were announced to it so far", advice


_BY_MEMBER: Mapping[MemberState, Callable[[Member, Circumstances], _Wait]] = {
    S.UNSUBSCRIBED: _unsubscribed,
    S.JOINING: _joining,
    S.RECONCILING: _reconciling,
    S.ACK: _confirming,
    S.STABLE: _stable,
}
_ALWAYS: Mapping[MemberState, _Wait] = {
    S.LEAVING: ("the coordinator to confirm that it left", None),
    S.FENCED: ("the time of its next join", None),
    S.STALE: ("the application to poll", "poll; wrap long work in consumer.hold(), or raise max.poll.interval.ms."),
    S.FATAL: (None, "mend the problem, then subscribe again or restart the program."),
}
