"""The files of traces, read once: which there are, the lines at which something happens, and the entries in these lines.

Most lines of a trace are heartbeats that change nothing. The one pass over all lines adds to each what is known by then
(the state, the last heartbeat that was answered, sums), and keeps the few lines that change something.

Entries are in the order of each member's own clock, with the time of day. Their column `run` is one member run: a group, a
member id, a host and a process, whichever files hold parts of it. `entry` numbers its entries. An entry that is in two
files, because one is a copy or was saved from memory, counts once.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from membership_client import MembershipError, MemberState
from membership_client.trace.format import ENUMS, VERSION
from membership_client_spark.audit.trace_schema import LINE, with_trace_names


class NoTracesError(MembershipError, ValueError):
    """The paths given to an audit have no file."""

    advice = "Give files, folders or patterns such as traces/*.jsonl*, as Spark's workers see them."


def listing(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Each file once, with its size; no content is read. NoTracesError if there is no file."""
    try:
        found = spark.read.format("binaryFile").option("recursiveFileLookup", value=True).load(list(paths))
        names = [name.replace("file:///", "file:/", 1) for name in found.inputFiles()]
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise NoTracesError(f"Nothing is at {(error.getMessageParameters() or {}).get('path', paths)}.") from error
    if not names:
        raise NoTracesError(f"There is no file in {', '.join(paths) or 'an empty list of paths'}.")
    # Names and sizes are joined, because Spark's scan returns no row for an empty file.
    sizes = found.selectExpr("_metadata.file_path AS file", "_metadata.file_size AS bytes")
    return spark.createDataFrame([(name,) for name in names], "file STRING").join(sizes, "file", "left")


# --- lines -----------------------------------------------------------------------------------------------------------

_RANGES = r"^\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*$"
"""Partition numbers as a trace has them: `0-3,7`."""

_CLASSIFIED = """
    SELECT *, CASE
        WHEN broken IS NOT NULL THEN 'broken'
        WHEN trace IS NOT NULL THEN 'header'
        WHEN abs(at) < 1e11 AND coalesce(forall(map_values(owned), r -> r RLIKE :ranges), true)
            AND (note IS NOT NULL OR array_contains(:states, state) AND epoch IS NOT NULL AND event.is IS NOT NULL)
            THEN 'entry'
        ELSE 'invalid' END AS kind
    FROM {raw}"""

_NARROWED = with_trace_names("""
    SELECT file, block, position, kind, at, note, cause, owned, jumped,
        CASE WHEN note IS NULL THEN state END AS state,
        CASE WHEN note IS NULL THEN epoch END AS epoch,
        CASE WHEN kind = 'header' THEN struct(
            `group`, member AS member_id, instance AS instance_id, host, pid, pod, spark, wall, at, start) END AS header,
        CASE WHEN kind = 'header' AND trace <> :version
                THEN concat('the trace has version ', trace, '; this audit reads version ', :version)
            WHEN kind = 'header' AND NOT coalesce(
                `group` IS NOT NULL AND member IS NOT NULL AND host IS NOT NULL AND pid IS NOT NULL
                AND abs(wall) < 1e11 AND abs(at) < 1e11
                AND coalesce(forall(map_values(start.owned), r -> r RLIKE :ranges), true), false)
            THEN 'the header lacks a valid group, member, host, pid or time' END AS header_fault,
        CASE WHEN event.is IN (:CallbackReturned, :Subscribe, :Unsubscribe, :Close) OR event.response.is = :Refused
            THEN event END AS event,
        CASE WHEN event.response.is = :HeartbeatAccepted THEN struct(
            event.request_id, event.response.epoch, event.response.interval_s) END AS answer,
        event.response.is IN (:HeartbeatAccepted, :HeartbeatConfirmed) AS is_confirmed,
        CASE WHEN event.response.is IN (:MemberIdGiven, :GroupJoined) THEN event.response.member_id END AS given_id,
        -- Plain heartbeats are left out of the effects: they are most of a trace.
        CASE WHEN array_contains(effects.is, :RunCallback) OR array_contains(effects.is, :Stop)
            OR array_contains(effects.request.is, :LeaveGroup) OR array_contains(effects.request.is, :JoinGroup)
            OR array_min(effects.request.epoch) < 0
            OR array_max(effects.request.regex) IS NOT NULL THEN effects END AS effects,
        xxhash64(trace, `group`, member, host, pid, wall, at, cpu, note, state, epoch, event.is, event.request_id,
            event.call_id) AS content
    FROM {classified}""")

_NUMBERED = """
    SELECT *,
        row_number() OVER file AS number,
        count_if(kind = 'header') OVER so_far AS section,
        lag(kind) OVER file AS kind_before,
        lead(kind) OVER file AS kind_after,
        last(CASE WHEN kind = 'header' THEN header_fault IS NULL END, true) OVER so_far AS header_is_valid
    FROM {narrowed}
    WINDOW file AS (PARTITION BY file ORDER BY block, position),
        so_far AS (PARTITION BY file ORDER BY block, position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"""

# A broken line at the end of a file, or before a header, is torn: the process ended while it wrote.
_CHECKED = """
    SELECT *,
        kind = 'broken' AND coalesce(kind_after, 'header') = 'header' AS torn,
        CASE WHEN header_fault IS NOT NULL THEN header_fault
            WHEN kind = 'broken' AND kind_after <> 'header' THEN 'it is not a line of a trace'
            WHEN kind = 'invalid' THEN 'no member writes such an entry'
            WHEN kind = 'entry' AND header_is_valid IS NULL THEN 'there is no header before this entry'
            WHEN kind = 'entry' AND NOT header_is_valid THEN 'the header before this entry was refused' END AS refusal
    FROM {numbered}"""

_ACCUMULATED = with_trace_names("""
    SELECT *,
        last(CASE kind WHEN 'header' THEN coalesce(header.start.state, :Member.state) WHEN 'entry' THEN state END, true)
            OVER before AS state_before,
        last(CASE kind WHEN 'header' THEN coalesce(header.start.epoch, :Member.epoch) WHEN 'entry' THEN epoch END, true)
            OVER before AS epoch_before,
        last(CASE WHEN state IS NOT NULL THEN struct(section, at) END, true) OVER before AS step_before,
        last(CASE WHEN is_confirmed THEN struct(section, at, answer.interval_s) END, true) OVER so_far AS heartbeat,
        last(CASE WHEN array_max(effects.request.regex) IS NOT NULL THEN array_max(effects.request_id) END, true)
            OVER before AS subscription_request_id,
        sum(coalesce(jumped, 0D)) OVER so_far AS jumped_s,
        count_if(refusal IS NOT NULL) OVER so_far AS refused,
        bit_xor(content) OVER so_far AS file_content
    FROM {checked}
    WINDOW before AS (PARTITION BY file ORDER BY block, position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        so_far AS (PARTITION BY file ORDER BY block, position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)""")

_KEPT = """
    SELECT * FROM {accumulated}
    WHERE kind <> 'entry' OR kind_before IS DISTINCT FROM 'entry' OR kind_after IS DISTINCT FROM 'entry'
        OR header_is_valid AND state IS NOT NULL AND (
            step_before.section IS DISTINCT FROM section OR state <> state_before OR epoch <> epoch_before
            OR owned IS NOT NULL OR cause IS NOT NULL OR event IS NOT NULL OR effects IS NOT NULL
            OR given_id IS NOT NULL
            OR answer.request_id = subscription_request_id)"""


def changing_lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """One row for each header, each refused or torn line, and each entry at which something happens."""
    known = {"version": VERSION, "states": ENUMS[MemberState].words.split(), "ranges": _RANGES}
    classified = spark.sql(_CLASSIFIED, args=known, raw=_raw(spark, paths))
    numbered = spark.sql(_NUMBERED, narrowed=spark.sql(_NARROWED, args=known, classified=classified))
    return spark.sql(_KEPT, accumulated=spark.sql(_ACCUMULATED, checked=spark.sql(_CHECKED, numbered=numbered)))


def _raw(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """All lines, with `block` and `position`, which order the lines of a file even if Spark reads it in several blocks."""
    reader = spark.read.schema(LINE).options(
        mode="PERMISSIVE",
        columnNameOfCorruptRecord="broken",
        recursiveFileLookup=True,
        # One file that rotation moves meanwhile, or whose compression was cut off, must not fail an audit of hours.
        ignoreMissingFiles=True,
        ignoreCorruptFiles=True,
    )
    place = ("_metadata.file_path AS file", "_metadata.file_block_start AS block")
    return reader.json(list(paths)).selectExpr("*", *place, "monotonically_increasing_id() AS position")


# --- the table `files` -----------------------------------------------------------------------------------------------

_FILES = """
    WITH counts AS (
        SELECT file, max(number) AS lines, count_if(kind = 'header') AS headers, count_if(torn) AS torn,
            max(refused) AS refused, max_by(file_content, number) AS content,
            min_by(concat('line ', number, ': ', refusal), number) FILTER (WHERE refusal IS NOT NULL) AS why
        FROM {lines} GROUP BY file),
    compared AS (
        SELECT *, min(file) OVER (PARTITION BY lines, content) AS original FROM counts)
    SELECT f.file, coalesce(f.bytes, 0) AS bytes, coalesce(c.lines, 0) AS lines, coalesce(c.headers, 0) AS headers, coalesce(c.torn, 0) AS torn,
        coalesce(c.refused, 0) AS refused, CASE WHEN c.file IS NULL THEN 'it is empty, or cannot be read' ELSE c.why END AS why,
        CASE WHEN c.original <> f.file THEN c.original END AS copy_of
    FROM {listing} f LEFT JOIN compared c ON f.file = c.file"""


def files(spark: SparkSession, listing: DataFrame, lines: DataFrame) -> DataFrame:
    """The table `files`. `why` says what the first refused line lacks; refused lines are left out of all other tables."""
    return spark.sql(_FILES, listing=listing, lines=lines)


# --- from lines to trace entries -------------------------------------------------------------------------------------

_WITH_HEADERS = """
    SELECT *,
        last(header, true) OVER so_far AS head,
        jumped_s - last(CASE WHEN kind = 'header' THEN jumped_s END, true) OVER so_far AS jumped_here_s
    FROM {lines}
    WINDOW so_far AS (PARTITION BY file ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"""

_WITH_SECTIONS = """
    SELECT *,
        first(CASE WHEN kind = 'entry' THEN at END, true) OVER section AS first_at,
        last(CASE WHEN kind = 'entry' THEN at END, true) OVER section AS final_at,
        last(jumped_here_s) OVER section AS jumped_in_all_s,
        max(torn) OVER section AS is_torn
    FROM {with_headers}
    WINDOW section AS (
        PARTITION BY file, section ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"""

# A trace that was saved from memory has the time of day of its end in the header; all others have that of their beginning.
_ALL_ENTRIES = """
    SELECT struct(head.`group`, head.member_id, head.host, head.pid) AS run,
        head.instance_id, head.pod, head.spark,
        file, number, first_at, content, is_torn, head.at > final_at AS is_saved,
        kind_before = 'header' AS opens, CASE WHEN kind_before = 'header' THEN head.start END AS start,
        at, head.wall - head.at + jumped_here_s
            - CASE WHEN head.at > final_at THEN jumped_in_all_s ELSE 0D END AS offset_s,
        state IS NOT NULL AS is_step, state_before, coalesce(state, state_before) AS state,
        epoch_before, coalesce(epoch, epoch_before) AS epoch,
        cause, owned, event, answer, effects,
        coalesce(given_id, CASE WHEN kind_before = 'header' THEN nullif(head.start.classic.given_id, '') END) AS given_id,
        CASE WHEN heartbeat.section = section THEN heartbeat END AS heartbeat,
        CASE WHEN step_before.section = section THEN step_before.at END AS step_before_at,
        row_number() OVER (PARTITION BY head.`group`, head.member_id, head.host, head.pid, at, content
            ORDER BY first_at, file, number) AS copy
    FROM {with_sections}
    WHERE kind = 'entry' AND header_is_valid"""

_ENTRIES = """
    SELECT *, at + offset_s AS time,
        -- The name in brokers' logs: the instance id, else the first member id that a coordinator gave, else its own.
        coalesce(instance_id, first(given_id, true) OVER whole_run, run.member_id) AS name,
        row_number() OVER in_order AS entry,
        -- The last step before the next entry: the steps in between changed nothing, and were left out.
        coalesce(lead(step_before_at) OVER in_order, at) AS last_at
    FROM {all_entries}
    WHERE copy = 1
    WINDOW in_order AS (PARTITION BY run ORDER BY at, first_at, file, number),
        whole_run AS (PARTITION BY run ORDER BY at, first_at, file, number
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"""


def trace_entries(spark: SparkSession, lines: DataFrame) -> DataFrame:
    """One row for each entry that was kept; state and epoch are those after it."""
    with_sections = spark.sql(_WITH_SECTIONS, with_headers=spark.sql(_WITH_HEADERS, lines=lines))
    return spark.sql(_ENTRIES, all_entries=spark.sql(_ALL_ENTRIES, with_sections=with_sections))
