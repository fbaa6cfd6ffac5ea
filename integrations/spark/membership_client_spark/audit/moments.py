"""From lines to what happened to each run of a member, in the order of its own clock, with the time of day.

A `life` is one run: a group, a member id, a host and a process, whichever files hold parts of it. What stands in two
files, because one is a copy or was saved beside the other, counts once.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

_IN_SECTIONS = """
    SELECT *,
        last(header, true) OVER so_far AS head,
        jumped_s - last(CASE WHEN kind = 'header' THEN jumped_s END, true) OVER so_far AS jumped_here_s
    FROM {lines}
    WINDOW so_far AS (PARTITION BY file ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"""

_SUMMED = """
    SELECT *,
        first(CASE WHEN kind = 'entry' THEN at END, true) OVER section AS first_at,
        last(CASE WHEN kind = 'entry' THEN at END, true) OVER section AS final_at,
        last(jumped_here_s) OVER section AS jumped_in_all_s,
        max(torn) OVER section AS is_torn
    FROM {in_sections}
    WINDOW section AS (
        PARTITION BY file, section ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"""

# The header of a trace that was saved from memory is the last to know the time of day, not the first.
_ENTRIES = """
    SELECT struct(head.`group`, head.member_id, head.host, head.pid) AS life,
        head.instance_id, head.pod, head.spark,
        file, number, first_at, content, is_torn, head.at > final_at AS is_saved,
        kind_before = 'header' AS opens, CASE WHEN kind_before = 'header' THEN head.start END AS start,
        at, head.wall - head.at + jumped_here_s
            - CASE WHEN head.at > final_at THEN jumped_in_all_s ELSE 0D END AS offset_s,
        state IS NOT NULL AS is_step, state_before, coalesce(state, state_before) AS state,
        epoch_before, coalesce(epoch, epoch_before) AS epoch,
        cause, owned, event, answer, effects,
        coalesce(given_id, CASE WHEN kind_before = 'header' THEN nullif(head.start.classic.given_id, '') END) AS given_id,
        CASE WHEN beat.section = section THEN beat END AS beat,
        CASE WHEN step_before.section = section THEN step_before.at END AS step_before_at,
        row_number() OVER (PARTITION BY head.`group`, head.member_id, head.host, head.pid, at, content
            ORDER BY first_at, file, number) AS copy
    FROM {summed}
    WHERE kind = 'entry' AND sound"""

_MOMENTS = """
    SELECT *, at + offset_s AS time,
        -- What brokers and their logs call it: where coordinators give ids, the first one.
        coalesce(instance_id, first(given_id, true) OVER whole, life.member_id) AS name,
        row_number() OVER life AS moment,
        -- Until the next moment all steps are as this one, and left out; this is the last of them.
        coalesce(lead(step_before_at) OVER life, at) AS last_at
    FROM {entries}
    WHERE copy = 1
    WINDOW life AS (PARTITION BY life ORDER BY at, first_at, file, number),
        whole AS (PARTITION BY life ORDER BY at, first_at, file, number
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"""


def moments(spark: SparkSession, lines: DataFrame) -> DataFrame:
    """One row for each line that matters of a life; state and epoch are those after it."""
    summed = spark.sql(_SUMMED, in_sections=spark.sql(_IN_SECTIONS, lines=lines))
    return spark.sql(_MOMENTS, entries=spark.sql(_ENTRIES, summed=summed))
