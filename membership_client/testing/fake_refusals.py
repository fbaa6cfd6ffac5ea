"""Requests that a coordinator refuses, with Kafka's own texts, because clients show these to users."""

from __future__ import annotations

from typing import NoReturn

from membership_client.core.error_codes import Code
from membership_client.core.events import Heartbeat, Refused
from membership_client.partitions import Partitions
from membership_client.testing.fake_reconciler import Enrolled

ASSIGNORS = ("uniform", "range")


class RefusalError(Exception):
    """Ends the handling of a request. The request has changed nothing."""

    def __init__(self, answer: Refused) -> None:
        super().__init__(answer)
        self.answer = answer


def refuse(code: int, message: str | None = None) -> NoReturn:
    raise RefusalError(Refused(int(code), message))


def _invalid(message: str) -> NoReturn:
    refuse(Code.INVALID_REQUEST, message)


def check_heartbeat(request: Heartbeat) -> None:
    """Refuse a heartbeat that is wrong in any group."""
    for name, value in (("MemberId", request.member_id), ("GroupId", request.group_id)):
        if not value:
            _invalid(f"{name} can't be empty.")
    for name, optional in (("InstanceId", request.instance_id), ("RackId", request.rack_id)):
        if optional == "":
            _invalid(f"{name} can't be empty.")
    if request.epoch == 0:
        _check_join(request)
    elif request.epoch == -2 and request.instance_id is None:
        _invalid("InstanceId can't be null.")
    elif request.epoch < -2:
        _invalid("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in ASSIGNORS:
        supported = ", ".join(ASSIGNORS)
        refuse(
            Code.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {supported}.",
        )


def _check_join(request: Heartbeat) -> None:
    if request.rebalance_timeout_s is None:
        _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.owned is None or request.owned:
        _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.topics is None and request.regex is None:
        _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def check_epoch(member: Enrolled, request: Heartbeat, *, rejoins_in_place: bool = True) -> None:
    """Fence the member unless the epoch is its own, or its previous one and its partitions show that only an answer was lost."""
    said, known = request.epoch, member.epoch
    if said == 0 and (rejoins_in_place or member.previous_epoch == 0):
        return
    if said > known:
        _fence("greater", said, known)
    if said < known and not (said == member.previous_epoch and _owns_no_more(request.owned, member.assigned)):
        _fence("smaller", said, known)


def _owns_no_more(owned: Partitions | None, assigned: Partitions) -> bool:
    return owned is not None and not owned - assigned


def _fence(how: str, said: int, known: int) -> NoReturn:
    refuse(
        Code.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {how} member epoch ({said}) than the one known by the group coordinator "
        f"({known}). The member must abandon all its partitions and rejoin.",
    )
