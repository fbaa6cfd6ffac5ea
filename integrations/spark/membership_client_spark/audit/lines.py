"""All lines of all traces, once through: each gets its place in its file, and what changes nothing is left out.

A member's day is mostly heartbeats that bring no news. So the one pass over everything carries along what is so until
the next line (the state, the last answer, sums), and keeps the few lines at which something happens.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from membership_client import MemberState
from membership_client.trace.format import ENUMS, VERSION
from membership_client_spark.audit.schema import LINE
from membership_client_spark.audit.trace_names import with_trace_names

_RANGES = r"^\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*$"
"""Numbers of partitions as a trace has them: `0-3,7`."""

_SORTED = """
    SELECT *, CASE
        WHEN broken IS NOT NULL THEN 'broken'
        WHEN trace IS NOT NULL THEN 'header'
        WHEN abs(at) < 1e11 AND coalesce(forall(map_values(owned), r -> r RLIKE :ranges), true)
            AND (note IS NOT NULL OR array_contains(:states, state) AND epoch IS NOT NULL AND event.is IS NOT NULL)
            THEN 'entry'
        ELSE 'odd' END AS kind
    FROM {raw}"""

_NARROW = with_trace_names("""
    SELECT file, block, position, kind, at, note, cause, owned, jumped,
        CASE WHEN note IS NULL THEN state END AS state,
        CASE WHEN note IS NULL THEN epoch END AS epoch,
        CASE WHEN kind = 'header' THEN struct(
            `group`, member AS member_id, instance AS instance_id, host, pid, pod, spark, wall, at, start) END AS header,
        CASE WHEN kind = 'header' AND trace <> :version THEN concat('its version is ', trace, ', and ', :version, ' is read')
            WHEN kind = 'header' AND NOT coalesce(
                `group` IS NOT NULL AND member IS NOT NULL AND host IS NOT NULL AND pid IS NOT NULL
                AND abs(wall) < 1e11 AND abs(at) < 1e11
                AND coalesce(forall(map_values(start.owned), r -> r RLIKE :ranges), true), false)
            THEN 'its header does not say whose trace it is' END AS flaw,
        CASE WHEN event.is IN (:CallbackReturned, :Subscribe, :Unsubscribe, :Close) OR event.response.is = :Refused
            THEN event END AS event,
        CASE WHEN event.response.is = :HeartbeatAccepted THEN struct(
            event.request_id, event.response.epoch, event.response.interval_s) END AS answer,
        event.response.is IN (:HeartbeatAccepted, :HeartbeatConfirmed) AS is_confirmed,
        CASE WHEN event.response.is IN (:MemberIdGiven, :GroupJoined) THEN event.response.member_id END AS given_id,
        -- Of what was sent, only what is not said with every heartbeat.
        CASE WHEN array_contains(effects.is, :RunCallback) OR array_contains(effects.is, :Stop)
            OR array_contains(effects.request.is, :LeaveGroup) OR array_contains(effects.request.is, :JoinGroup)
            OR array_min(effects.request.epoch) < 0
            OR array_max(effects.request.regex) IS NOT NULL THEN effects END AS effects,
        xxhash64(trace, `group`, member, host, pid, wall, at, cpu, note, state, epoch, event.is, event.request_id,
            event.call_id) AS content
    FROM {sorted}""")

_PLACED = """
    SELECT *,
        row_number() OVER file AS number,
        count_if(kind = 'header') OVER so_far AS section,
        lag(kind) OVER file AS kind_before,
        lead(kind) OVER file AS kind_after,
        last(CASE WHEN kind = 'header' THEN flaw IS NULL END, true) OVER so_far AS sound
    FROM {narrow}
    WINDOW file AS (PARTITION BY file ORDER BY block, position),
        so_far AS (PARTITION BY file ORDER BY block, position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"""

_JUDGED = """
    SELECT *,
        kind = 'broken' AND coalesce(kind_after, 'header') = 'header' AS torn,
        CASE WHEN flaw IS NOT NULL THEN flaw
            WHEN kind = 'broken' AND kind_after <> 'header' THEN 'it is not a line of a trace'
            WHEN kind = 'odd' THEN 'it is not what a member writes'
            WHEN kind = 'entry' AND sound IS NULL THEN 'a trace begins with a header'
            WHEN kind = 'entry' AND NOT sound THEN 'its header is refused' END AS refusal
    FROM {placed}"""

_CARRIED = with_trace_names("""
    SELECT *,
        last(CASE kind WHEN 'header' THEN coalesce(header.start.state, :Member.state) WHEN 'entry' THEN state END, true)
            OVER before AS state_before,
        last(CASE kind WHEN 'header' THEN coalesce(header.start.epoch, :Member.epoch) WHEN 'entry' THEN epoch END, true)
            OVER before AS epoch_before,
        last(CASE WHEN state IS NOT NULL THEN struct(section, at) END, true) OVER before AS step_before,
        last(CASE WHEN is_confirmed THEN struct(section, at, answer.interval_s) END, true) OVER so_far AS beat,
        last(CASE WHEN array_max(effects.request.regex) IS NOT NULL THEN array_max(effects.request_id) END, true)
            OVER before AS stated_id,
        sum(coalesce(jumped, 0D)) OVER so_far AS jumped_s,
        count_if(refusal IS NOT NULL) OVER so_far AS refused,
        bit_xor(content) OVER so_far AS file_content
    FROM {judged}
    WINDOW before AS (PARTITION BY file ORDER BY block, position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        so_far AS (PARTITION BY file ORDER BY block, position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)""")

_KEPT = """
    SELECT * FROM {carried}
    WHERE kind <> 'entry' OR kind_before IS DISTINCT FROM 'entry' OR kind_after IS DISTINCT FROM 'entry'
        OR sound AND state IS NOT NULL AND (
            step_before.section IS DISTINCT FROM section OR state <> state_before OR epoch <> epoch_before
            OR owned IS NOT NULL OR cause IS NOT NULL OR event IS NOT NULL OR effects IS NOT NULL
            OR given_id IS NOT NULL
            OR answer.request_id = stated_id)"""


def lines_that_matter(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """One row for each header, each refused or torn line, and each entry at which something happens."""
    known = {"version": VERSION, "states": ENUMS[MemberState].words.split(), "ranges": _RANGES}
    sorted_ = spark.sql(_SORTED, args=known, raw=_raw(spark, paths))
    placed = spark.sql(_PLACED, narrow=spark.sql(_NARROW, args=known, sorted=sorted_))
    return spark.sql(_KEPT, carried=spark.sql(_CARRIED, judged=spark.sql(_JUDGED, placed=placed)))


def _raw(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """With what puts lines in order: a file may be read in blocks, and each block from its first line to its last."""
    reader = spark.read.schema(LINE).options(
        mode="PERMISSIVE",
        columnNameOfCorruptRecord="broken",
        recursiveFileLookup=True,
        # A file that rotation moves meanwhile, or whose compression was cut off, is not worth a night's audit.
        ignoreMissingFiles=True,
        ignoreCorruptFiles=True,
    )
    place = ("_metadata.file_path AS file", "_metadata.file_block_start AS block")
    return reader.json(list(paths)).selectExpr("*", *place, "monotonically_increasing_id() AS position")
