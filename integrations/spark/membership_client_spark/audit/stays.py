"""When each run was in its group, and how each of those times ended."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_names import with_trace_names

_COUNTED = with_trace_names("""
    SELECT *,
        try_element_at(filter(effects.request, r -> r.is = :LeaveGroup
            OR r.is = :Heartbeat AND r.epoch < 0 AND r.member_id = life.member_id), 1) AS farewell,
        count_if(is_step AND epoch = 0) OVER (
            PARTITION BY life ORDER BY moment ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS stay
    FROM {moments}""")

_INSIDE = "SELECT * FROM {counted} WHERE epoch > 0 OR epoch_before > 0"

_GROUPED = with_trace_names("""
    SELECT life, stay, min(name) AS name, min(instance_id) AS instance_id,
        min_by(struct(moment, at, time, epoch_before), moment) FILTER (WHERE is_step) AS first,
        -- The step that ends a stay is its last; of a stay that is open, the last is the last that was left out.
        max_by(struct(CASE WHEN epoch = 0 THEN at ELSE last_at END AS at, offset_s, epoch, state, cause, event.response),
            moment) FILTER (WHERE is_step) AS final,
        max_by(struct(at, time, farewell.is, farewell.epoch, farewell.reason), moment)
            FILTER (WHERE farewell IS NOT NULL) AS farewell,
        max_by(coalesce(event.reason, 'closed by the application'), moment)
            FILTER (WHERE event.is IN (:Close, :Unsubscribe)) AS wish,
        max(beat.at + offset_s) AS confirmed,
        min(epoch) FILTER (WHERE epoch > 0) AS first_epoch, max(epoch) AS last_epoch
    FROM {stretches}
    GROUP BY life, stay HAVING count_if(is_step) > 0""")

_ENDED = with_trace_names("""
    SELECT *, first.epoch_before = 0 AS joined,
        CASE WHEN final.response.is = :Refused AND final.epoch = 0
                THEN CASE WHEN final.state = :FATAL THEN 'ended' ELSE 'thrown out' END
            WHEN final.state = :FENCED THEN 'thrown out'
            WHEN final.state = :STALE OR startswith(final.cause, 'poll interval') THEN 'did not poll'
            WHEN farewell IS NOT NULL
                THEN CASE WHEN farewell.is = :Heartbeat AND farewell.epoch < -1 THEN 'away' ELSE 'left' END
            WHEN final.epoch > 0 THEN CASE WHEN final.state = :FATAL THEN 'ended' ELSE 'open' END
            ELSE 'left' END AS ending
    FROM {grouped}""")

_STAYS = with_trace_names("""
    SELECT life, stay, name, instance_id, joined, first, first_epoch, last_epoch, ending,
        CASE WHEN ending IN ('left', 'away') AND farewell IS NOT NULL THEN struct(farewell.at, farewell.time)
            ELSE struct(final.at, final.at + final.offset_s AS time) END AS last,
        CASE WHEN ending = 'thrown out' AND final.response.is IS DISTINCT FROM :Refused THEN coalesce(final.cause, '')
            WHEN ending IN ('thrown out', 'ended') AND final.epoch = 0 THEN concat_ws(': ',
                CASE final.response.code WHEN 22 THEN 'ILLEGAL_GENERATION' WHEN 25 THEN 'UNKNOWN_MEMBER_ID'
                    WHEN 69 THEN 'GROUP_ID_NOT_FOUND' WHEN 82 THEN 'FENCED_INSTANCE_ID'
                    WHEN 110 THEN 'FENCED_MEMBER_EPOCH' WHEN 113 THEN 'STALE_MEMBER_EPOCH' ELSE concat('error code ', final.response.code) END,
                CASE WHEN final.response.message <> '' THEN final.response.message END)
            WHEN ending = 'did not poll' THEN 'the poll interval was exceeded'
            WHEN ending IN ('left', 'away') THEN coalesce(
                CASE WHEN farewell.is = :LeaveGroup AND farewell.reason <> '' THEN farewell.reason END, wish, '')
            ELSE '' END AS reason,
        -- Who is thrown out learns it later; it was in the group for certain when it was last answered.
        CASE WHEN ending IN ('thrown out', 'open') THEN greatest(first.time, confirmed)
            WHEN ending IN ('left', 'away') AND farewell IS NOT NULL THEN farewell.time
            ELSE final.at + final.offset_s END AS confirmed
    FROM {ended}""")

# A static member that comes back to the place it left finds there an epoch that its last run knew.
_RETURNING = """
    SELECT *, instance_id IS NOT NULL AND exists(
        collect_list(struct(life, stay, last_epoch)) OVER (
            PARTITION BY life.`group`, instance_id, CASE WHEN instance_id IS NULL THEN life END
            ORDER BY first.time RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        f -> f.last_epoch = first_epoch AND struct(f.life, f.stay) <> struct(life, stay)) AS returns
    FROM {stays}"""

_REJOINED = """
    SELECT *, row_number() OVER (PARTITION BY life ORDER BY stay) > 1 AS again,
        coalesce(ending = 'away' AND instance_id IS NOT NULL AND first.time < max(
            CASE WHEN returns AND joined THEN first.time END) OVER (PARTITION BY life.`group`, instance_id), false)
            AS comes_back
    FROM {returning}"""


def stretches(spark: SparkSession, moments: DataFrame) -> DataFrame:
    """Moments in a group, each with the number of its stay in its life."""
    return spark.sql(_INSIDE, counted=spark.sql(_COUNTED, moments=moments))


def stays(spark: SparkSession, stretches: DataFrame) -> DataFrame:
    """`joined` is false where it was in the group already when its trace began."""
    ended = spark.sql(_ENDED, grouped=spark.sql(_GROUPED, stretches=stretches))
    returning = spark.sql(_RETURNING, stays=spark.sql(_STAYS, ended=ended))
    return spark.sql(_REJOINED, returning=returning)
