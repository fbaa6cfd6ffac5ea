"""The history of a member in the standard log: one INFO line per rebalance, WARNING only where an operator must act."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from membership_client.config import CLASSIC_ONLY, KIP_848_ONLY
from membership_client.core.error_codes import Code
from membership_client.core.events import Answered, Budget, CallbackDelayed, CallbackReturned, Refused
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.core.topic_check import missing_text
from membership_client.core.view import has_lost
from membership_client.errors import ProblemKind
from membership_client.partitions import counted, first_shares
from membership_client.rebalance_report import RebalanceReport
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.local_name import local_name
from membership_client.runtime.rebalance_history import RebalanceHistory
from membership_client.types import Delay, GroupProtocol, MemberState

S = MemberState

logger = logging.getLogger("membership_client")

_QUIET = frozenset({ProblemKind.REJECTED, ProblemKind.UNREACHABLE})
"""Problems that usually pass by themselves: the member retries, and no operator must act."""


class MemberLogger(logging.LoggerAdapter[logging.Logger]):
    """The logger, with fields of the member on each record: for formatters that write JSON."""

    def __init__(self, member: Member) -> None:
        super().__init__(logger, None)
        self._member = member

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, {**kwargs, "extra": {**fields_of(self._member), **kwargs.get("extra", {})}}


def fields_of(member: Member) -> dict[str, Any]:
    """Fields as in a `Snapshot`; of many topics the first ones, and how many more."""
    return {
        "group_id": member.config.group_id,
        "member_id": member.known_as or member.member_id,
        "instance_id": member.config.group_instance_id,
        "client_id": member.config.client_id,
        "epoch": member.epoch,
        "state": member.state.value,
        "cause": None if member.cause is None else member.cause.kind.value,
        "partitions": first_shares(member.owned.named(member.names)),
    }


class StepLog:
    """`on_step` is an observer of one member that writes its log lines."""

    def __init__(self, history: RebalanceHistory) -> None:
        self._history = history
        """The history of the same member. It gets each step before this observer does."""
        self._logged: RebalanceReport | None = None

    def on_step(self, step: Step) -> None:
        before, after = step.before, step.after
        who, log = name_of(after), MemberLogger(after)
        if isinstance(step.event, CallbackReturned) and step.event.error:
            log.warning("%s: a callback raised: %s", who, step.event.error)
        if isinstance(step.event, CallbackDelayed) and after is not before:
            delay = Delay(step.event.why, step.at - step.event.since)
            log.warning("%s: %s. Nothing of these partitions is read meanwhile.", who, delay)
        if after.config.group_protocol == "auto" and after.settled is not None and before.settled is None:
            _log_protocol(who, log, step)
        if after.topic_check.missing != before.topic_check.missing:
            _log_missing(who, log, before, after)
        if after.state is not before.state:
            self._log_state(who, log, step)
        elif _is_new_problem(before, after):
            _log_problem(who, log, after)
        if self._history.last is not self._logged and self._history.last is not None:
            self._logged = self._history.last
            log.info("%s: %s", who, self._logged, extra=_moves_of(self._logged))

    def _log_state(self, who: str, log: MemberLogger, step: Step) -> None:
        before, after = step.before, step.after
        if after.state is S.FATAL:
            log.error("%s: ended: %s", who, after.problem.detail if after.problem else after.cause)
        elif after.state in {S.FENCED, S.STALE}:
            log.warning(
                "%s: out of the group (%s); owned %s", who, after.cause, counted(len(before.owned), "partition")
            )
        else:
            log.debug("%s: %s -> %s (%s)", who, before.state.value, after.state.value, after.cause)


def _moves_of(rebalance: RebalanceReport) -> dict[str, Any]:
    got, lost = first_shares(rebalance.got), first_shares(rebalance.lost)
    return {"got": got, "lost": lost, "duration_s": round(rebalance.seconds, 3)}


def _is_new_problem(before: Member, after: Member) -> bool:
    """Is the problem new? A repeated one, or one with more detail, was logged already; a failed callback has its own line."""
    old, new = before.problem, after.problem
    if new is None or new.kind is ProblemKind.CALLBACK_FAILED:
        return False
    return old is None or (old.kind, old.detail) != (new.kind, new.detail)


def _log_protocol(who: str, log: MemberLogger, step: Step) -> None:
    """Log which protocol `auto` took, why, and which of the given keys have no effect with it."""
    config, answer = step.after.config, step.event.response if isinstance(step.event, Answered) else None
    unused, protocol = CLASSIC_ONLY, "KIP-848"
    if step.after.settled is GroupProtocol.CONSUMER:
        log.info("%s: group.protocol=auto takes KIP-848: the coordinator has it", who)
    else:
        unused, protocol = KIP_848_ONLY, "the classic protocol"
        if isinstance(answer, Refused) and answer.code == Code.GROUP_ID_NOT_FOUND:
            log.warning("%s: group.protocol=auto takes the classic protocol. %s %s", who, answer.message, _MIGRATION)
        else:
            log.info("%s: group.protocol=auto takes the classic protocol: these brokers do not have KIP-848", who)
    for key, why in config.without_effect(unused).items():
        log.warning("%s: %s has no effect with %s: %s", who, key, protocol, why)


_MIGRATION = (
    "To migrate the group, stop all its members and start them with KIP-848: an empty group can be upgraded, and keeps its "
    "offsets; or have all members assign by range first. With group.protocol=classic this member says nothing more about it."
)


def _log_missing(who: str, log: MemberLogger, before: Member, after: Member) -> None:
    """Log each topic once when it is found missing, and once when it exists."""
    old, new = before.topic_check.missing, after.topic_check.missing
    for topic in sorted(new.keys() - old.keys()):
        log.warning("%s: %s", who, missing_text(topic, new[topic]))
    subscribed = after.subscription.expected if after.subscription else frozenset()
    for topic in sorted((old.keys() - new.keys()) & subscribed):
        log.info("%s: topic %s exists now", who, topic)


def log_warning(member: Member, warning: BudgetWarning) -> None:
    """Log that a time limit is half used up, and what follows when it is used up."""
    lost = warning.budget is Budget.CALLBACK and has_lost(member)
    consequence = _LOST_ALREADY if lost else _CONSEQUENCES[warning.budget]
    fields = {"budget": warning.budget.name.lower(), "busy_thread": warning.thread, "busy_at": list(warning.stack)}
    log = MemberLogger(member)
    log.warning("%s: %s. When it is all gone, %s.", name_of(member), warning, consequence, extra=fields)


_CONSEQUENCES = {
    Budget.POLL: "this member leaves the group (max.poll.interval.ms); inside Consumer.hold() it does not",
    Budget.CALLBACK: "the group does not wait for this member any longer, and gives its partitions to others",
    Budget.CLOSE: "the close ends without waiting for the rest",
}
_LOST_ALREADY = (
    "nothing changes: the partitions are lost already, and this member does not join again before it returns"
)


def _log_problem(who: str, log: MemberLogger, member: Member) -> None:
    assert member.problem is not None
    kind = member.problem.kind
    at_work = kind is ProblemKind.WAITING_FOR_INSTANCE_ID and member.config.group_instance_id_conflict == "takeover"
    level = logging.INFO if kind in _QUIET or at_work else logging.WARNING
    log.log(level, "%s: %s", who, member.problem.detail)


def name_of(member: Member) -> str:
    return f"[{member.config.group_id}/{local_name(member)}]"
