"""The rebalances of each group, by its epoch: what triggered each, which members took part, what moved, how long it took.

The epoch is the coordinator's own count, so no clock can put rebalances out of order.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from membership_client.core import reasons
from membership_client_spark.audit.trace_schema import with_trace_names

# --- which member reached which epoch when ---------------------------------------------------------------------------

_ARRIVALS = """
    WITH reached AS (
        SELECT run, membership, epoch, min(entry) AS entry, min_by(at, entry) AS at, min_by(time, entry) AS time
        FROM {in_group} WHERE is_step AND epoch > 0 GROUP BY run, membership, epoch)
    SELECT r.*, m.name, m.again, r.entry <> m.first.entry OR m.joined AS observed,
        m.joined AND r.epoch = m.first_epoch AND NOT m.returns AS joins,
        CASE WHEN row_number() OVER in_order = 1 THEN nth_value(r.time, 2) OVER whole_group
            ELSE first(r.time) OVER whole_group END AS others_time,
        min(CASE WHEN m.joined AND r.epoch = m.first_epoch THEN r.time END) OVER whole_group AS first_join_time
    FROM reached r JOIN {memberships} m ON r.run = m.run AND r.membership = m.membership
    WINDOW in_order AS (PARTITION BY r.run.`group`, r.epoch ORDER BY r.time, r.run, r.membership),
        whole_group AS (PARTITION BY r.run.`group`, r.epoch ORDER BY r.time, r.run, r.membership
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"""

# With the two earliest runs of an epoch: for any run of the group, one of the two is the first of the others.
_EPOCHS = """
    WITH firsts AS (
        SELECT run.`group`, epoch, run, min(time) AS time, bool_or(observed) AS observed
        FROM {arrivals} GROUP BY run.`group`, epoch, run),
    ranked AS (
        SELECT *, row_number() OVER (PARTITION BY `group`, epoch ORDER BY time, run) AS rank FROM firsts)
    SELECT *, lead(epoch) OVER (PARTITION BY `group` ORDER BY epoch) AS next_epoch FROM (
        SELECT `group`, epoch, min(time) AS began, min_by(run, rank) AS first_run,
            max(CASE WHEN rank = 2 THEN time END) AS second_time
        FROM ranked GROUP BY `group`, epoch HAVING bool_or(observed))"""


def arrivals(spark: SparkSession, in_group: DataFrame, memberships: DataFrame) -> DataFrame:
    """One row for each epoch of a membership: when the run reached it.

    `observed` is false if the run had that epoch already when its trace began. `others_time` is when the first of the other
    members reached the epoch; `first_join_time`, when the first member that joined with this epoch did.
    """
    return spark.sql(_ARRIVALS, in_group=in_group, memberships=memberships)


def epochs(spark: SparkSession, arrivals: DataFrame) -> DataFrame:
    """One row for each epoch that a traced member was seen to reach."""
    return spark.sql(_EPOCHS, arrivals=arrivals)


# --- what a member did, or what was done to it, that made the coordinator raise the group epoch ----------------------

# A join raises the epoch with which the member is let in, unless another member reached that epoch before: then targets
# are computed in batches, the newcomer was let in at the old epoch, and its join raised the next one.
# It is triggered when the request is sent: a coordinator holds joins of classic groups back until all have come.
_JOINS = with_trace_names("""
    WITH asked AS (
        SELECT a.run, a.membership, max(s.time) AS time FROM {arrivals} a JOIN (
            SELECT run, entry, time FROM {entries} WHERE exists(effects, e -> e.request.is = :JoinGroup
                OR e.request.is = :Heartbeat AND e.request.epoch = 0)) s ON a.run = s.run AND s.entry <= a.entry
        WHERE a.joins GROUP BY a.run, a.membership)
    SELECT * FROM (
        SELECT a.run, a.name, CASE
                WHEN r.is_classic THEN a.epoch
                WHEN a.first_join_time < a.time OR a.time - a.others_time > :skew THEN e.next_epoch
                ELSE a.epoch END AS epoch,
            a.at, coalesce(q.time, a.time) AS time, 'joined' AS cause,
            concat(a.name, ' joined', CASE WHEN a.again THEN ' again' ELSE '' END) AS text, a.others_time IS NULL AS sure
        FROM {arrivals} a JOIN {epochs} e ON a.run.`group` = e.`group` AND a.epoch = e.epoch
        JOIN {runs} r ON a.run = r.run LEFT JOIN asked q ON a.run = q.run AND a.membership = q.membership
        WHERE a.joins)
    WHERE epoch IS NOT NULL""")

# A change raises the epoch of its answer. A member that must first give partitions up is answered its old epoch: then it is
# the first epoch that no member had before the request.
_CHANGES = with_trace_names("""
    WITH sent AS (
        SELECT run, name, entry, at, time, e.request_id, e.request
        FROM {entries} LATERAL VIEW explode(
            filter(effects, e -> e.request.is = :Heartbeat AND e.request.regex IS NOT NULL)) AS e),
    answered AS (
        SELECT run, answer.request_id, min_by(answer.epoch, entry) AS epoch
        FROM {entries} WHERE answer IS NOT NULL GROUP BY run, answer.request_id),
    stated AS (
        SELECT s.*, a.epoch, struct(s.request.topics, s.request.regex) AS subscription,
            lag(struct(s.request.topics, s.request.regex)) OVER (PARTITION BY s.run ORDER BY s.entry) AS subscription_before
        FROM sent s JOIN answered a ON s.run = a.run AND s.request_id = a.request_id),
    followed AS (
        SELECT s.run, s.entry, min(e.epoch) AS epoch FROM stated s JOIN {epochs} e
        ON s.run.`group` = e.`group` AND e.epoch > s.request.epoch AND e.began >= s.time - :skew
        WHERE s.epoch <= s.request.epoch GROUP BY s.run, s.entry)
    SELECT s.run, s.name, coalesce(f.epoch, s.epoch) AS epoch, s.at, s.time, 'subscription' AS cause,
        concat(s.name, ' changed its subscription to ', CASE WHEN subscription.regex <> '' THEN subscription.regex
            ELSE array_join(subscription.topics, ', ') END) AS text, true AS sure
    FROM stated s LEFT JOIN followed f ON s.run = f.run AND s.entry = f.entry
    WHERE subscription <> subscription_before AND coalesce(f.epoch, s.epoch) > s.request.epoch AND s.request.epoch > 0""")

# A member of a classic group that wants a rebalance joins again with a reason; the others join as followers.
_REJOINS = with_trace_names("""
    WITH sent AS (
        SELECT run, name, entry, at, time, e.request.reason, e.request.topics
        FROM {entries} LATERAL VIEW explode(filter(effects, e -> e.request.is = :JoinGroup
            AND NOT array_contains(:followers, e.request.reason)
            AND NOT startswith(e.request.reason, :coordinator_error))) AS e),
    followed AS (
        SELECT s.run, s.entry, min(a.epoch) AS epoch
        FROM sent s JOIN {memberships} m ON s.run = m.run AND s.entry > m.first.entry AND s.at <= m.last.at
            JOIN {arrivals} a ON a.run = m.run AND a.membership = m.membership AND a.at > s.at
        GROUP BY s.run, s.entry)
    SELECT s.run, s.name, f.epoch, s.at, s.time,
        CASE s.reason WHEN :changed THEN 'subscription' ELSE 'asked for' END AS cause,
        CASE s.reason WHEN :changed
            THEN concat(s.name, ' changed its subscription to ', array_join(array_sort(s.topics), ', '))
            ELSE concat(s.name, ' joined again (', s.reason, ')') END AS text, true AS sure
    FROM sent s JOIN followed f ON s.run = f.run AND s.entry = f.entry""")

_REJOIN_REASONS = {
    "followers": [reasons.REBALANCING, reasons.NO_ANSWER],
    "coordinator_error": reasons.COORDINATOR_ERROR,
    "changed": reasons.SUBSCRIPTION_CHANGED,
}

# The next epoch that another member reached after this one had gone, as far as the clocks can tell. A member whose session
# ended was in the group until others got its partitions: then it is the epoch of these, if one of them did.
_ENDS = """
    WITH gone AS (
        SELECT m.* FROM {memberships} m JOIN {runs} r ON m.run = r.run
        WHERE (m.ending <> 'open' OR r.vanished) AND NOT m.comes_back),
    later AS (
        SELECT g.run, g.membership, e.epoch FROM gone g JOIN {epochs} e
        ON g.run.`group` = e.`group` AND e.epoch > g.last_epoch
            AND CASE WHEN e.first_run = g.run THEN e.second_time ELSE e.began END >= g.confirmed - :skew),
    inherited AS (
        SELECT g.run, g.membership, min(o.began.epoch) AS epoch
        FROM gone g JOIN {owned_periods} p ON p.run = g.run AND p.began.at BETWEEN g.first.at AND g.last.at
            AND (p.ended IS NULL OR g.ending = 'fenced' AND p.ended.at >= g.last.at)
        JOIN {owned_periods} o ON o.run.`group` = p.run.`group` AND o.topic = p.topic AND o.partition = p.partition
            AND o.run <> p.run AND o.began.epoch > p.began.epoch AND o.began.epoch > g.last_epoch
        WHERE g.ending IN ('fenced', 'open') GROUP BY g.run, g.membership),
    followed AS (
        SELECT l.run, l.membership, coalesce(max(i.epoch), min(l.epoch)) AS epoch, max(i.epoch) IS NULL AS by_clock
        FROM later l LEFT JOIN inherited i ON l.run = i.run AND l.membership = i.membership AND l.epoch = i.epoch
        GROUP BY l.run, l.membership)
    SELECT g.run, g.name, f.epoch, g.last.at, g.last.time,
        CASE g.ending WHEN 'open' THEN 'vanished' ELSE g.ending END AS cause,
        concat(g.name, ' ', CASE g.ending WHEN 'left' THEN 'left' WHEN 'fenced' THEN 'was fenced'
            WHEN 'did not poll' THEN 'left, because it did not poll' WHEN 'ended' THEN 'ended'
            WHEN 'open' THEN 'ended without leaving' ELSE 'left for a while and did not come back' END,
            CASE WHEN g.reason <> '' THEN concat(' (', CASE WHEN contains(g.reason, g.run.member_id)
                THEN substring_index(g.reason, ':', 1) ELSE g.reason END, ')') ELSE '' END) AS text, false AS sure, f.by_clock
    FROM gone g JOIN followed f ON g.run = f.run AND g.membership = f.membership"""

# Of members that left one after the other each raised an epoch, but only clocks say which. So the first of them stays with
# the epoch, unless that has another trigger; the next ones get the epochs that follow and have no trigger.
_SPREAD = """
    WITH ranked AS (
        SELECT *, count(*) OVER in_epoch = count_if(by_clock) OVER in_epoch AS is_first_kept,
            row_number() OVER (PARTITION BY run.`group`, epoch, by_clock ORDER BY time, run) AS number
        FROM {triggers} WINDOW in_epoch AS (PARTITION BY run.`group`, epoch)),
    triggered AS (SELECT DISTINCT run.`group`, epoch FROM {triggers}),
    numbered AS (
        SELECT *, row_number() OVER (PARTITION BY `group`, base ORDER BY epoch) - 1 AS place FROM (
            SELECT e.`group`, e.epoch, max(t.epoch) OVER (PARTITION BY e.`group` ORDER BY e.epoch) AS base
            FROM {epochs} e LEFT JOIN triggered t ON e.`group` = t.`group` AND e.epoch = t.epoch))
    SELECT r.run, r.name, coalesce(n.epoch, r.epoch) AS epoch, r.at, r.time, r.cause, r.text, r.sure
    FROM ranked r LEFT JOIN numbered n ON r.by_clock AND r.run.`group` = n.`group` AND r.epoch = n.base
        AND n.place = r.number - CASE WHEN r.is_first_kept THEN 1 ELSE 0 END"""


def triggers(
    spark: SparkSession,
    *,
    entries: DataFrame,
    runs: DataFrame,
    memberships: DataFrame,
    arrivals: DataFrame,
    epochs: DataFrame,
    owned_periods: DataFrame,
    skew_s: float,
) -> DataFrame:
    """One row for each trigger and the epoch it raised; `sure` where the answer to that very request brought the epoch."""
    skew = {"skew": skew_s}
    joins = spark.sql(_JOINS, args=skew, entries=entries, arrivals=arrivals, epochs=epochs, runs=runs)
    ends = spark.sql(_ENDS, args=skew, memberships=memberships, runs=runs, epochs=epochs, owned_periods=owned_periods)
    changes = spark.sql(_CHANGES, args=skew, entries=entries, epochs=epochs)
    rejoins = spark.sql(_REJOINS, args=_REJOIN_REASONS, entries=entries, memberships=memberships, arrivals=arrivals)
    found = joins.unionByName(changes).unionByName(rejoins).withColumn("by_clock", lit(False))
    return spark.sql(_SPREAD, triggers=found.unionByName(ends), epochs=epochs)


# --- which partitions moved ------------------------------------------------------------------------------------------

# Without the partitions that a static member owned at that very epoch before, in an earlier membership.
_GAINED = """
    WITH owned AS (
        SELECT p.*, m.membership, m.instance_id, m.first.time AS joined, coalesce(p.ended.epoch_before, m.last_epoch) AS until
        FROM {owned_periods} p JOIN {memberships} m ON p.run = m.run AND p.began.at BETWEEN m.first.at AND m.last.at),
    back AS (
        SELECT n.run, n.topic, n.partition, n.began FROM owned n JOIN owned o
        ON n.run.`group` = o.run.`group` AND n.instance_id = o.instance_id AND n.topic = o.topic
            AND n.partition = o.partition AND n.began.epoch = o.until
            AND struct(n.run, n.membership) <> struct(o.run, o.membership) AND o.joined <= n.joined)
    SELECT p.run, p.topic, p.partition, p.began.epoch, p.began.time, true AS is_gain FROM {owned_periods} p
    LEFT ANTI JOIN back b
        ON p.run = b.run AND p.topic = b.topic AND p.partition = b.partition AND p.began = b.began
    WHERE NOT p.began.from_start"""

# A member reaches the new epoch only after it has given up what it must. While its callback runs, others may reach epochs that
# it never has: what they got in these did not move in this one.
_LOST = """
    WITH lost AS (
        SELECT p.run, p.topic, p.partition, p.began.epoch AS owned_epoch, min(a.epoch) AS epoch, p.ended.time
        FROM {owned_periods} p JOIN {memberships} m ON p.run = m.run AND p.ended.at BETWEEN m.first.at AND m.last.at
        JOIN {arrivals} a ON a.run = m.run AND a.membership = m.membership AND a.epoch > p.ended.epoch
        WHERE p.ended.epoch > 0 GROUP BY p.run, p.topic, p.partition, p.began.epoch, p.ended.time)
    SELECT l.run, l.topic, l.partition, l.epoch, l.time, false AS is_gain FROM lost l
    LEFT ANTI JOIN {owned_periods} o ON o.run.`group` = l.run.`group` AND o.topic = l.topic AND o.partition = l.partition
        AND o.run <> l.run AND o.began.epoch > l.owned_epoch AND o.began.epoch < l.epoch"""


def moves(spark: SparkSession, owned_periods: DataFrame, memberships: DataFrame, arrivals: DataFrame) -> DataFrame:
    """One row for each partition that a run got or gave up in an epoch."""
    gained = spark.sql(_GAINED, owned_periods=owned_periods, memberships=memberships)
    lost = spark.sql(_LOST, owned_periods=owned_periods, memberships=memberships, arrivals=arrivals)
    return gained.unionByName(lost)


# --- the table `rebalances` ------------------------------------------------------------------------------------------

_REBALANCES = """
    WITH causes AS (
        SELECT run.`group`, epoch, min(time) AS time, bool_or(sure) AS sure, array_sort(collect_set(cause)) AS causes,
            array_sort(collect_set(text)) AS texts
        FROM {triggers} GROUP BY run.`group`, epoch),
    participants AS (
        SELECT run.`group`, epoch, array_sort(collect_set(name)) AS members FROM (
            SELECT run, epoch, name FROM {triggers} UNION ALL SELECT run, epoch, name FROM {arrivals})
        GROUP BY run.`group`, epoch),
    got AS (SELECT DISTINCT run.`group`, epoch, topic, partition FROM {moves} WHERE is_gain),
    moved AS (
        SELECT m.run.`group`, m.epoch, count(DISTINCT m.topic, m.partition) AS moved,
            -- When the last partition found its owner; of those that no traced member got, when the last was given up.
            max(CASE WHEN m.is_gain OR g.topic IS NULL THEN m.time END) AS until
        FROM {moves} m LEFT JOIN got g ON m.run.`group` = g.`group` AND m.epoch = g.epoch AND m.topic = g.topic
            AND m.partition = g.partition
        GROUP BY m.run.`group`, m.epoch)
    SELECT CAST(least(e.began, causes.time) AS TIMESTAMP) AS time, `group`, epoch,
        coalesce(array_join(causes.causes, ', '), 'unknown') AS cause,
        coalesce(array_join(causes.texts, '; '), '') AS trigger,
        CASE WHEN causes.sure THEN 'certain' WHEN NOT causes.sure THEN 'likely' ELSE 'unknown' END AS certainty,
        participants.members, coalesce(moved.moved, 0) AS moved,
        coalesce(greatest(0D, moved.until - least(e.began, causes.time)), 0D) AS lasted_s
    FROM {epochs} e LEFT JOIN causes USING (`group`, epoch) LEFT JOIN participants USING (`group`, epoch)
    LEFT JOIN moved USING (`group`, epoch)"""


def rebalances(
    spark: SparkSession, epochs: DataFrame, arrivals: DataFrame, triggers: DataFrame, moves: DataFrame
) -> DataFrame:
    """The table `rebalances`. `cause` is `unknown` where the traces do not show it.

    Then a member without a trace did it, or a change of a topic, or an administrator; or a session ended, and no traced member
    got its partitions.
    """
    tables = {"epochs": epochs, "arrivals": arrivals, "triggers": triggers, "moves": moves}
    return spark.sql(_REBALANCES, None, **tables)
