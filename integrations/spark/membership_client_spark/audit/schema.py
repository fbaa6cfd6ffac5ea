"""What the audit reads of a line of a trace: a schema given beforehand, so that nothing is read twice to guess one."""

from __future__ import annotations

VERSION = 1
"""Of the traces that are read; a trace of another version is counted and left alone."""

_SUBSCRIPTION = "STRUCT<topics: ARRAY<STRING>, regex: STRING>"

_START = f"""STRUCT<
    state: STRING, epoch: INT, interval_s: DOUBLE, config: STRUCT<
        request_timeout_ms: INT, group_protocol: STRING, heartbeat_interval_ms: INT>,
    settled: STRING, classic: STRUCT<given_id: STRING>,
    subscription: {_SUBSCRIPTION}, owned: MAP<STRING, STRING>, names: MAP<STRING, STRING>>"""

_EVENT = """STRUCT<
    `is`: STRING, request_id: BIGINT, call_id: BIGINT, error: STRING, began_at: DOUBLE,
    topics: ARRAY<STRING>, regex: STRING, reason: STRING,
    response: STRUCT<`is`: STRING, epoch: INT, interval_s: DOUBLE, code: INT, message: STRING, member_id: STRING>>"""

_REQUEST = """STRUCT<
    `is`: STRING, member_id: STRING, epoch: INT, topics: ARRAY<STRING>, regex: STRING, reason: STRING>"""

_EFFECT = f"STRUCT<`is`: STRING, request_id: BIGINT, call_id: BIGINT, kind: STRING, request: {_REQUEST}>"

LINE = f"""
    trace INT, `group` STRING, member STRING, instance STRING, host STRING, pid BIGINT, pod STRING, spark STRING,
    wall DOUBLE, start {_START},
    at DOUBLE, note STRING, state STRING, epoch INT, cause STRING, owned MAP<STRING, STRING>, jumped DOUBLE, cpu DOUBLE,
    event {_EVENT}, effects ARRAY<{_EFFECT}>, broken STRING"""
"""`broken` is the text of a line that is no JSON, or not of these types."""
