"""The trace format in SQL: its names and defaults, and the schema by which lines are read."""

from __future__ import annotations

import re

from membership_client.trace.format import ENUMERATIONS, RECORDS

_RECORDS = {record.tag: record for record in RECORDS.values()}
_NAMES = _RECORDS.keys() | {word for each in ENUMERATIONS for word in each.words.split()}
_PLACEHOLDER = re.compile(r":([A-Z]\w*)(?:\.(\w+))?")


def with_trace_names(query: str) -> str:
    """Replaces `:Heartbeat` and `:STABLE` by texts, `:Member.epoch` by the default of that field.

    KeyError if the trace format has no such name, so that a query with a wrong name fails when it is imported.
    Spark's own parameters begin with a small letter, and stay.
    """
    return _PLACEHOLDER.sub(lambda found: _default(*found.groups()) if found[2] else _name(found[1]), query)


def _name(name: str) -> str:
    if name not in _NAMES:
        raise KeyError(name)
    return f"'{name}'"


def _default(tag: str, field: str) -> str:
    default = _RECORDS[tag].default(field)
    return f"{default}D" if isinstance(default, float) else repr(default)


def struct(tags: str, **columns: str) -> str:
    """The SQL type of a record with one of these tags, reduced to these fields. KeyError if no such record has the field.

    If there are several tags, the tag is a field too, `is`.
    """
    known = {field for tag in tags.split() for field in _RECORDS[tag].fields}
    if unknown := columns.keys() - known:
        raise KeyError(*unknown)
    tag = {"`is`": "STRING"} if " " in tags else {}
    return f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in (tag | columns).items())}>"


# --- a line ----------------------------------------------------------------------------------------------------------

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
"""The schema of a line. Spark is given it, because it would read all files once more to infer one.

`broken` has the text of a line that is not JSON, or whose values have other types.
"""
