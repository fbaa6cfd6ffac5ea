"""The worst of each kind: short tables, each a query over what the audit wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

MOST = 10


@dataclass(frozen=True, slots=True)
class Top:
    title: str
    table: str
    """Which of the audit's tables it is the top of."""
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class _Question:
    title: str
    table: str
    query: str


_QUESTIONS = (
    _Question(
        "Longest without an owner",
        "gaps",
        """SELECT CAST(began AS DOUBLE) AS `since`, concat(topic, '-', partition) AS partition, `group`, lasted_s AS `for`,
            last_owner AS `last owner`, ending AS `ended by`, coalesce(next_owner, 'nobody') AS `then owned by`
        FROM {frame} ORDER BY lasted_s DESC, began, partition""",
    ),
    _Question(
        "Two owners at once",
        "overlaps",
        """SELECT CAST(began AS DOUBLE) AS `since`, concat(topic, '-', partition) AS partition, `group`, lasted_s AS `for`,
            array_join(transform(owners, o -> concat(coalesce(o.instance_id, o.member_id), ' (', o.host, ', ', o.pid, ')')),
                ' and ') AS owners, CASE WHEN sure THEN 'yes' ELSE 'clocks may differ' END AS `sure`
        FROM {frame} ORDER BY sure DESC, lasted_s DESC, began, partition""",
    ),
    _Question(
        "Longest rebalances",
        "rebalances",
        """SELECT CAST(time AS DOUBLE) AS `at`, `group`, epoch, lasted_s AS `took`, moved AS `partitions moved`,
            CASE WHEN trigger = '' THEN 'unknown' WHEN length(trigger) > 160 THEN concat(left(trigger, 160), '…')
                ELSE trigger END AS `set off by`
        FROM {frame} ORDER BY lasted_s DESC, time, `group`""",
    ),
    _Question(
        "What set rebalances off",
        "rebalances",
        """SELECT cause, count(*) AS rebalances, sum(moved) AS `partitions moved`, max(lasted_s) AS `longest`
        FROM {frame} GROUP BY cause ORDER BY rebalances DESC, cause""",
    ),
    _Question(
        "Slowest callbacks",
        "callbacks",
        """SELECT member, `group`, method, count AS calls, failures AS failed, p50_s AS `half within`,
            p95_s AS `95 % within`, p99_s AS `99 % within`, max_s AS `longest`, max_waited_s AS `waited for a poll`
        FROM {frame} WHERE max_s IS NOT NULL ORDER BY p99_s DESC, max_s DESC, member, method""",
    ),
    _Question(
        "Most restarted",
        "slots",
        """SELECT instance_id AS `instance id`, `group`, restarts, size(array_distinct(holders.host)) AS hosts,
            element_at(holders, -1).host AS `last on`, element_at(holders, -1).pid AS process,
            coalesce(element_at(holders, -1).pod, element_at(holders, -1).spark, '') AS `pod or task`
        FROM {frame} WHERE restarts > 0 ORDER BY restarts DESC, `group`, instance_id""",
    ),
    _Question(
        "Files that were not read in full",
        "files",
        """SELECT file, lines, torn, refused, coalesce(why, CASE WHEN copy_of IS NOT NULL
            THEN concat('a copy of ', copy_of) ELSE 'its last line is not whole' END) AS `why`
        FROM {frame} WHERE why IS NOT NULL OR torn > 0 OR copy_of IS NOT NULL
        ORDER BY refused DESC, torn DESC, file""",
    ),
)

TIMES = frozenset({"since", "at"})
DURATIONS = frozenset({"for", "took", "longest", "half within", "95 % within", "99 % within", "waited for a poll"})


def tops(spark: SparkSession, tables: Mapping[str, DataFrame]) -> Iterator[Top]:
    """Times are seconds since 1970, durations seconds."""
    for question in _QUESTIONS:
        frame = spark.sql(question.query, frame=tables[question.table]).limit(MOST)
        yield Top(question.title, question.table, tuple(frame.columns), [tuple(row) for row in frame.collect()])
