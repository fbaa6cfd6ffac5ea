"""From lines to trace entries: in the order of each member's own clock, with the time of day.

The column `run` is one member run: a group, a member id, a host and a process, whichever files hold parts of it. `entry`
numbers its entries. An entry that is in two files, because one is a copy or was saved from memory, counts once.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

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
