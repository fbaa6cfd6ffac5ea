"""The memberships of each run: each time that it was in its group, and how that ended."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client.core import reasons
from membership_client.core.error_codes import Code
from membership_client_spark.audit.trace_schema import with_trace_names

_COUNTED = with_trace_names("""
    SELECT *,
        try_element_at(filter(effects.request, r -> r.is = :LeaveGroup
            OR r.is = :Heartbeat AND r.epoch < 0 AND r.member_id = run.member_id), 1) AS leave,
        count_if(is_step AND epoch = 0) OVER (
            PARTITION BY run ORDER BY entry ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS membership
    FROM {entries}""")

_IN_GROUP = "SELECT * FROM {counted} WHERE epoch > 0 OR epoch_before > 0"

_GROUPED = with_trace_names("""
    SELECT run, membership, min(name) AS name, min(instance_id) AS instance_id,
        min_by(struct(entry, at, time, epoch_before), entry) FILTER (WHERE is_step) AS first,
        -- The step that ends a membership is its last; an open one lasts until the last step that was left out.
        max_by(struct(CASE WHEN epoch = 0 THEN at ELSE last_at END AS at, offset_s, epoch, state, cause, event.response),
            entry) FILTER (WHERE is_step) AS final,
        max_by(struct(at, time, state, leave.is, leave.epoch, leave.reason), entry)
            FILTER (WHERE leave IS NOT NULL) AS leave,
        max_by(coalesce(event.reason, :closed), entry)
            FILTER (WHERE event.is IN (:Close, :Unsubscribe)) AS given_reason,
        max(heartbeat.at + offset_s) AS heartbeat_time,
        min(epoch) FILTER (WHERE epoch > 0) AS first_epoch, max(epoch) AS last_epoch
    FROM {in_group}
    GROUP BY run, membership HAVING count_if(is_step) > 0""")

# A member that an error has ended leaves, too: that is no leave of the application's.
_ENDED = with_trace_names("""
    SELECT *, first.epoch_before = 0 AS joined, final.response.is <=> :Refused AND final.epoch = 0 AS is_refused,
        CASE WHEN is_refused THEN CASE WHEN final.state = :FATAL THEN 'ended' ELSE 'fenced' END
            WHEN final.state = :FENCED THEN 'fenced'
            WHEN final.state = :STALE OR startswith(final.cause, 'poll interval') THEN 'did not poll'
            WHEN leave IS NOT NULL THEN CASE WHEN leave.state = :FATAL THEN 'ended'
                WHEN leave.is = :Heartbeat AND leave.epoch < -1 THEN 'away' ELSE 'left' END
            WHEN final.epoch > 0 THEN CASE WHEN final.state = :FATAL THEN 'ended' ELSE 'open' END
            ELSE 'left' END AS ending,
        leave IS NOT NULL AND NOT is_refused AND ending IN ('left', 'away', 'ended') AS ends_with_leave
    FROM {grouped}""")

# A fenced member learns of it later: it was certainly in the group when its last heartbeat was answered.
_MEMBERSHIPS = with_trace_names("""
    SELECT run, membership, name, instance_id, joined, first, first_epoch, last_epoch, ending,
        CASE WHEN ends_with_leave THEN struct(leave.at, leave.time)
            ELSE struct(final.at, final.at + final.offset_s AS time) END AS last,
        CASE WHEN is_refused THEN concat_ws(': ',
                coalesce(try_element_at(map_from_arrays(:codes, :code_names), final.response.code),
                    concat('error code ', final.response.code)),
                CASE WHEN final.response.message <> '' THEN final.response.message END)
            WHEN ending = 'fenced' THEN regexp_replace(coalesce(final.cause, ''), '^fenced: ', '')
            WHEN ending = 'did not poll' THEN 'the poll interval was exceeded'
            WHEN ends_with_leave AND leave.is = :LeaveGroup AND leave.reason <> '' THEN leave.reason
            WHEN ends_with_leave OR ending = 'left' THEN coalesce(given_reason, '')
            ELSE '' END AS reason,
        CASE WHEN ending IN ('fenced', 'open') THEN greatest(first.time, heartbeat_time) ELSE last.time END AS confirmed
    FROM {ended}""")

# A static member that comes back to the place it left finds there an epoch that its last run knew.
_RETURNING = """
    SELECT *, instance_id IS NOT NULL AND exists(
        collect_list(struct(run, membership, last_epoch)) OVER (
            PARTITION BY run.`group`, instance_id, CASE WHEN instance_id IS NULL THEN run END
            ORDER BY first.time RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        f -> f.last_epoch = first_epoch AND struct(f.run, f.membership) <> struct(run, membership)) AS returns
    FROM {memberships}"""

_REJOINED = """
    SELECT *, row_number() OVER (PARTITION BY run ORDER BY membership) > 1 AS again,
        coalesce(ending = 'away' AND instance_id IS NOT NULL AND first.time < max(
            CASE WHEN returns AND joined THEN first.time END) OVER (PARTITION BY run.`group`, instance_id), false)
            AS comes_back
    FROM {returning}"""


def entries_in_group(spark: SparkSession, entries: DataFrame) -> DataFrame:
    """The entries at which a run was in its group; `membership` numbers its memberships."""
    return spark.sql(_IN_GROUP, counted=spark.sql(_COUNTED, entries=entries))


def memberships(spark: SparkSession, in_group: DataFrame) -> DataFrame:
    """One row for each membership. `joined` is false where the run was in the group already when its trace began.

    `ending`: `left`, `away` (left temporarily), `fenced`, `did not poll`, `ended` by an error, or `open`. `confirmed` is
    when it was certainly still in the group; `returns`, whether it came back to the place that an earlier one left;
    `comes_back`, whether a later one came back to its place; `again`, whether the run had another before it.
    """
    ended = spark.sql(_ENDED, grouped=spark.sql(_GROUPED, args={"closed": reasons.CLOSED}, in_group=in_group))
    codes = {"codes": [code.value for code in Code], "code_names": [code.name for code in Code]}
    returning = spark.sql(_RETURNING, memberships=spark.sql(_MEMBERSHIPS, args=codes, ended=ended))
    return spark.sql(_REJOINED, returning=returning)
