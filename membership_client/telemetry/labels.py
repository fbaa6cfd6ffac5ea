"""What is said of a member on each of its spans, and on each of its metrics."""

from __future__ import annotations

from membership_client.core.member import Member
from membership_client.telemetry import names
from membership_client.types import Cause, CauseKind

Labels = dict[str, str]


def metric_labels(member: Member) -> Labels:
    """Few values only, because each new one is a new time series: the member and instance id only on request."""
    labels = {names.SYSTEM: "kafka", names.GROUP: member.config.group_id}
    return labels | _who(member) if member.config.telemetry_member_id_label else labels


def span_labels(member: Member) -> Labels:
    return {
        names.SYSTEM: "kafka",
        names.GROUP: member.config.group_id,
        names.CLIENT_ID: member.config.client_id,
        **_who(member),
    }


def cause_labels(cause: Cause) -> Labels:
    # Of a failed callback the detail quotes the exception, whose message may quote a record.
    told = "a callback raised" if cause.kind is CauseKind.CALLBACK_FAILED else cause.detail
    return {names.CAUSE_KIND: kind_label(cause.kind), names.CAUSE_DETAIL: told}


def kind_label(kind: CauseKind) -> str:
    return kind.name.lower()


def _who(member: Member) -> Labels:
    instance = member.config.group_instance_id
    who = {names.MEMBER_ID: member.member_id}
    return who if instance is None else {**who, names.INSTANCE_ID: instance}
