"""What the audit reads of a line of a trace: a schema given beforehand, so that nothing is read twice to guess one."""

from __future__ import annotations

from membership_client_spark.audit.trace_names import struct

_CONFIG = struct("MemberConfig", request_timeout_ms="INT", group_protocol="STRING", heartbeat_interval_ms="INT")

_START = struct(
    "Member",
    state="STRING",
    epoch="INT",
    interval_s="DOUBLE",
    config=_CONFIG,
    settled="STRING",
    classic=struct("Classic", given_id="STRING"),
    subscription=struct("Subscribe", topics="ARRAY<STRING>", regex="STRING"),
    owned="MAP<STRING, STRING>",
    names="MAP<STRING, STRING>",
)

_RESPONSE = struct(
    "HeartbeatAccepted Refused MemberIdGiven GroupJoined",
    epoch="INT",
    interval_s="DOUBLE",
    code="INT",
    message="STRING",
    member_id="STRING",
)

_EVENT = struct(
    "Answered CallbackReturned Subscribe Unsubscribe Close",
    request_id="BIGINT",
    call_id="BIGINT",
    error="STRING",
    began_at="DOUBLE",
    topics="ARRAY<STRING>",
    regex="STRING",
    reason="STRING",
    response=_RESPONSE,
)

_REQUEST = struct(
    "Heartbeat LeaveGroup JoinGroup",
    member_id="STRING",
    epoch="INT",
    topics="ARRAY<STRING>",
    regex="STRING",
    reason="STRING",
)

_EFFECT = struct("Send RunCallback", request_id="BIGINT", call_id="BIGINT", kind="STRING", request=_REQUEST)

LINE = f"""
    trace INT, `group` STRING, member STRING, instance STRING, host STRING, pid BIGINT, pod STRING, spark STRING,
    wall DOUBLE, start {_START},
    at DOUBLE, note STRING, state STRING, epoch INT, cause STRING, owned MAP<STRING, STRING>, jumped DOUBLE, cpu DOUBLE,
    event {_EVENT}, effects ARRAY<{_EFFECT}>, broken STRING"""
"""`broken` is the text of a line that is no JSON, or not of these types."""
