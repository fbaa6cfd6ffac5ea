"""Which member owned which partition from when to when; when a partition had no owner, and when it had several."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_schema import with_trace_names

# --- owned periods: from the return of the assigned callback to the return of the one that took it away --------------

# A trace has the owned partitions where a section begins, and whenever they change.
_OWNED_SETS = """
    SELECT run, entry, true AS from_start, at, time, epoch, epoch_before, CAST(NULL AS BIGINT) AS call_id,
        transform(
            filter(map_entries(start.owned), e -> try_element_at(start.names, e.key) IS NOT NULL),
            e -> struct(try_element_at(start.names, e.key) AS topic, e.value AS ranges)) AS owned_topics
    FROM {entries} WHERE opens
    UNION ALL
    SELECT run, entry, false, at, time, epoch, epoch_before, event.call_id,
        transform(map_entries(owned), e -> struct(e.key AS topic, e.value AS ranges))
    FROM {entries} WHERE owned IS NOT NULL"""

_NUMBERED = """
    SELECT *, row_number() OVER in_order AS number, lead(struct(at, time, epoch, epoch_before, call_id)) OVER in_order AS following
    FROM {owned_sets}
    WINDOW in_order AS (PARTITION BY run ORDER BY entry, from_start DESC)"""

_PARTITIONS = """
    SELECT run, from_start, at, time, epoch, number, following, owned_topic.topic, partition
    FROM {numbered}
    LATERAL VIEW explode(owned_topics) AS owned_topic
    LATERAL VIEW explode(flatten(transform(split(owned_topic.ranges, ','),
        r -> sequence(CAST(split(r, '-')[0] AS INT), CAST(element_at(split(r, '-'), -1) AS INT))))) AS partition"""

_PERIODS = """
    WITH marked AS (
        SELECT *, coalesce(lag(number) OVER own, -1) < number - 1 AS begins FROM {partitions}
        WINDOW own AS (PARTITION BY run, topic, partition ORDER BY number)),
    counted AS (
        SELECT *, count_if(begins) OVER own AS period FROM marked
        WINDOW own AS (PARTITION BY run, topic, partition ORDER BY number))
    SELECT run, topic, partition,
        min_by(struct(at, time, epoch, from_start), number) AS began, max_by(following, number) AS ended
    FROM counted GROUP BY run, topic, partition, period"""

_OWNED = """
    SELECT r.run, r.instance_id, r.name, CASE WHEN r.instance_id IS NULL THEN r.name ELSE r.run.member_id END AS member_id,
        p.topic, p.partition, p.began.epoch, p.began.time AS began,
        coalesce(p.ended.time, greatest(r.until, p.began.time)) AS ended,
        CASE WHEN p.ended IS NOT NULL THEN coalesce(c.kind, 'missing')
            WHEN r.vanished THEN 'vanished' WHEN r.stopped IS NOT NULL THEN 'closed' ELSE 'open' END AS ending,
        r.traces_until
    FROM {owned_periods} p JOIN {runs} r ON p.run = r.run
    LEFT JOIN {calls} c ON p.run = c.run AND p.ended.call_id = c.call_id"""

_OWNERSHIP = """
    SELECT run.`group`, topic, partition, instance_id, member_id, run.host, run.pid, epoch,
        CAST(began AS TIMESTAMP) AS began, CAST(ended AS TIMESTAMP) AS ended, ended - began AS lasted_s, ending
    FROM {owned}"""


def owned_periods(spark: SparkSession, entries: DataFrame) -> DataFrame:
    """`began.from_start`: it was owned already when the trace began. `ended` is null if the traces have no end of it."""
    numbered = spark.sql(_NUMBERED, owned_sets=spark.sql(_OWNED_SETS, entries=entries))
    return spark.sql(_PERIODS, partitions=spark.sql(_PARTITIONS, numbered=numbered))


def owned(spark: SparkSession, owned_periods: DataFrame, runs: DataFrame, calls: DataFrame) -> DataFrame:
    """Owned periods with their owners and how they ended.

    `ending` is the callback that took the partition away (`revoked`, `lost`), or `closed`: the member ended without giving
    it back; `vanished`: so did the process; `open`: it may go on, and `ended` is when the traces end; `missing`: a later
    file shows that it ended, and the file in which it did is not here.
    """
    return spark.sql(_OWNED, owned_periods=owned_periods, runs=runs, calls=calls)


def ownership(spark: SparkSession, owned: DataFrame) -> DataFrame:
    """The table `ownership`."""
    return spark.sql(_OWNERSHIP, owned=owned)


# --- the table `gaps` ------------------------------------------------------------------------------------------------

# Before the first owner the partition may not have existed; after an `open` period it may still have been owned.
_UNOWNED = """
    WITH preceded AS (
        SELECT *, max(struct(ended, ending, name)) OVER earlier AS before
        FROM {owned}
        WINDOW earlier AS (PARTITION BY run.`group`, topic, partition ORDER BY began, ended
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    SELECT run.`group`, topic, partition, before, began AS until, name AS next_owner FROM preceded
    WHERE before.ended < began AND before.ending <> 'open'
    UNION ALL
    SELECT run.`group`, topic, partition, max(struct(ended, ending, name)) AS before, max(traces_until), NULL
    FROM {owned} GROUP BY run.`group`, topic, partition HAVING before.ending <> 'open'"""

_PRESENT = with_trace_names("""
    SELECT r.run, r.topics, r.any_topic, e.time AS began,
        least(r.until, coalesce(lead(e.time) OVER (PARTITION BY r.run ORDER BY e.entry), r.until)) AS ended,
        e.state NOT IN (:UNSUBSCRIBED, :LEAVING, :FATAL) AS is_present
    FROM {runs} r JOIN (
        SELECT run, entry, time, state FROM {entries} WHERE state <> state_before
        UNION ALL SELECT run, 0, time, state_before FROM {entries} WHERE entry = 1) e ON r.run = e.run""")

# Times in which a member was present that subscribes to the topic; times that touch each other are joined.
_WANTED = """
    WITH topics AS (SELECT DISTINCT run.`group`, topic FROM {owned}),
    subscribers AS (
        SELECT t.`group`, t.topic, p.began, p.ended FROM {present} p JOIN topics t ON p.run.`group` = t.`group`
        WHERE is_present AND p.ended > p.began AND (any_topic OR array_contains(topics, t.topic))),
    marked AS (
        SELECT *, coalesce(began > max(ended) OVER (PARTITION BY `group`, topic ORDER BY began
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true) AS begins
        FROM subscribers),
    counted AS (
        SELECT *, count_if(begins) OVER (PARTITION BY `group`, topic ORDER BY began
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS span
        FROM marked)
    SELECT `group`, topic, min(began) AS began, max(ended) AS ended FROM counted GROUP BY `group`, topic, span"""

_GAPS = """
    SELECT u.`group`, u.topic, u.partition, CAST(greatest(w.began, u.before.ended) AS TIMESTAMP) AS began,
        CAST(least(w.ended, u.until) AS TIMESTAMP) AS ended,
        least(w.ended, u.until) - greatest(w.began, u.before.ended) AS lasted_s,
        u.before.name AS last_owner, u.before.ending, u.next_owner
    FROM {unowned} u JOIN {wanted} w ON u.`group` = w.`group` AND u.topic = w.topic
        AND greatest(w.began, u.before.ended) < least(w.ended, u.until)"""


def gaps(spark: SparkSession, owned: DataFrame, runs: DataFrame, entries: DataFrame) -> DataFrame:
    """The table `gaps`: when a partition had no owner although a member was present to own it.

    `ending` is how its last owner lost it; `next_owner` is null if no member owned it again before the traces end.
    """
    present = spark.sql(_PRESENT, runs=runs, entries=entries)
    wanted = spark.sql(_WANTED, owned=owned, present=present)
    return spark.sql(_GAPS, unowned=spark.sql(_UNOWNED, owned=owned), wanted=wanted)


# --- the table `overlaps` --------------------------------------------------------------------------------------------

_SAME_CLOCK_S = 0.01
"""By how much two processes of one machine may differ in the time of day."""

# Few periods overlap another one; only those are compared with each other.
_OVERLAPPING = """
    SELECT * FROM (
        SELECT *, coalesce(max(ended) OVER earlier > began, false) OR coalesce(lead(began) OVER later < ended, false)
            AS overlaps
        FROM {owned}
        WINDOW earlier AS (PARTITION BY run.`group`, topic, partition ORDER BY began, ended, run
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
            later AS (PARTITION BY run.`group`, topic, partition ORDER BY began, ended, run))
    WHERE overlaps"""

_OVERLAPS = """
    WITH edges AS (
        SELECT run.`group`, topic, partition, began AS edge FROM {overlapping}
        UNION SELECT run.`group`, topic, partition, ended FROM {overlapping}),
    spans AS (
        SELECT *, lead(edge) OVER (PARTITION BY `group`, topic, partition ORDER BY edge) AS until FROM edges)
    SELECT s.`group`, s.topic, s.partition, CAST(edge AS TIMESTAMP) AS began, CAST(until AS TIMESTAMP) AS ended,
        until - edge AS lasted_s,
        array_sort(collect_list(struct(o.instance_id, o.member_id, o.run.host, o.run.pid))) AS owners,
        until - edge > CASE WHEN count(DISTINCT o.run.host) > 1 THEN :skew ELSE :same_clock END AS sure
    FROM spans s JOIN {overlapping} o
        ON s.`group` = o.run.`group` AND s.topic = o.topic AND s.partition = o.partition
            AND o.began <= s.edge AND o.ended > s.edge
    GROUP BY s.`group`, s.topic, s.partition, edge, until HAVING count(*) > 1"""


def overlaps(spark: SparkSession, owned: DataFrame, skew_s: float) -> DataFrame:
    """The table `overlaps`. `sure` is false where the difference between two clocks may explain the overlap."""
    overlapping = spark.sql(_OVERLAPPING, owned=owned)
    return spark.sql(_OVERLAPS, args={"skew": skew_s, "same_clock": _SAME_CLOCK_S}, overlapping=overlapping)
