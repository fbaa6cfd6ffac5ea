"""The summary of an audit: figures, bars over time and the worst of each kind, from its written tables; and its page.

The page is one HTML file that needs nothing else: no script, no network, and its own policy forbids both.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

from pyspark.sql import DataFrame, SparkSession

# --- figures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSummary:
    """The figures of an audit."""

    began: float | None
    """Seconds since 1970, when a partition was first seen with an owner; None if none ever was."""
    ended: float | None
    files: int
    copies: int
    """Files with the same lines as another file."""
    lines: int
    torn: int
    """Last lines that are not whole: the process, or its machine, ended while they were written."""
    refused: int
    """Lines that are not of a trace, or of another version."""
    groups: int
    members: int
    """Members that ran a callback, by instance id, or else by member id."""
    partitions: int
    rebalances: int
    double_owners: int
    """Times that a partition certainly had two owners."""
    gaps: int
    longest_gap_s: float
    restarts: int
    callbacks: int
    failed_callbacks: int


_SUMMARY = """
    SELECT * FROM (
        SELECT count(*) AS files, count(copy_of) AS copies, coalesce(sum(lines), 0) AS lines,
            coalesce(sum(torn), 0) AS torn, coalesce(sum(refused), 0) AS refused FROM {files})
    CROSS JOIN (
        SELECT CAST(min(began) AS DOUBLE) AS began, CAST(max(ended) AS DOUBLE) AS ended,
            count(DISTINCT `group`, topic, partition) AS partitions FROM {ownership})
    CROSS JOIN (
        SELECT count(DISTINCT `group`) AS groups, count(DISTINCT `group`, member) AS members,
            coalesce(sum(count), 0) AS callbacks, coalesce(sum(failures), 0) AS failed_callbacks FROM {callbacks})
    CROSS JOIN (SELECT count(*) AS rebalances FROM {rebalances})
    CROSS JOIN (SELECT count_if(sure) AS double_owners FROM {overlaps})
    CROSS JOIN (SELECT count(*) AS gaps, coalesce(max(lasted_s), 0D) AS longest_gap_s FROM {gaps})
    CROSS JOIN (SELECT coalesce(sum(restarts), 0) AS restarts FROM {slots})"""


def summarise(spark: SparkSession, tables: Mapping[str, DataFrame]) -> AuditSummary:
    """The figures of all tables."""
    (row,) = spark.sql(_SUMMARY, None, **tables).collect()
    return AuditSummary(**row.asDict())


# --- bars over time --------------------------------------------------------------------------------------------------

BARS = 96


@dataclass(frozen=True, slots=True)
class BarChart:
    """`BARS` values over the time of the whole audit."""

    title: str
    values: tuple[float, ...]


_REBALANCES = """
    SELECT CAST(greatest(0, least(:last, floor((CAST(time AS DOUBLE) - :began) / :width))) AS INT) AS bar,
        CAST(count(*) AS DOUBLE) AS value
    FROM {frame} GROUP BY bar"""

# A period counts in each bar that it touches, by the part of the bar's time that it covers.
_PERIODS = """
    WITH periods AS (
        SELECT CAST(began AS DOUBLE) - :began AS first, CAST(ended AS DOUBLE) - :began AS final FROM {frame}),
    parts AS (
        SELECT first, final, explode(sequence(CAST(greatest(0, least(:last, floor(first / :width))) AS INT),
            CAST(greatest(0, least(:last, floor(final / :width))) AS INT))) AS bar FROM periods)
    SELECT bar, sum(least(final, (bar + 1) * :width) - greatest(first, bar * :width)) / :width AS value
    FROM parts GROUP BY bar"""


def bar_charts(spark: SparkSession, tables: Mapping[str, DataFrame], began: float, ended: float) -> list[BarChart]:
    """From `began` to `ended`; what lies outside counts in the first or the last bar."""
    scale = {"began": began, "width": max(ended - began, 1e-3) / BARS, "last": BARS - 1}

    def chart(title: str, query: str, table: str) -> BarChart:
        found = {row["bar"]: row["value"] for row in spark.sql(query, args=scale, frame=tables[table]).collect()}
        return BarChart(title, tuple(max(0.0, found.get(bar, 0.0)) for bar in range(BARS)))

    return [
        chart("Rebalances", _REBALANCES, "rebalances"),
        chart("Partitions without an owner, on average", _PERIODS, "gaps"),
        chart("Partitions with two owners, on average", _PERIODS, "overlaps"),
    ]


# --- the worst of each kind ------------------------------------------------------------------------------------------

MOST = 10


@dataclass(frozen=True, slots=True)
class Top:
    """At most `MOST` rows, the worst first."""

    title: str
    table: str
    """The table of the audit that has all rows."""
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


_TOPS = (
    (
        "Longest without an owner",
        "gaps",
        """SELECT CAST(began AS DOUBLE) AS `since`, concat(topic, '-', partition) AS partition, `group`, lasted_s AS `for`,
            last_owner AS `last owner`, ending AS `ended by`, coalesce(next_owner, 'none') AS `next owner`
        FROM {frame} ORDER BY lasted_s DESC, began, partition""",
    ),
    (
        "Two owners at once",
        "overlaps",
        """SELECT CAST(began AS DOUBLE) AS `since`, concat(topic, '-', partition) AS partition, `group`, lasted_s AS `for`,
            array_join(transform(owners, o -> concat(coalesce(o.instance_id, o.member_id), ' (', o.host, ', ', o.pid, ')')),
                ' and ') AS owners, CASE WHEN sure THEN 'yes' ELSE 'clocks may differ' END AS `sure`
        FROM {frame} ORDER BY sure DESC, lasted_s DESC, began, partition""",
    ),
    (
        "Longest rebalances",
        "rebalances",
        """SELECT CAST(time AS DOUBLE) AS `at`, `group`, epoch, lasted_s AS `took`, moved AS `partitions moved`,
            CASE WHEN trigger = '' THEN 'unknown' WHEN length(trigger) > 160 THEN concat(left(trigger, 160), '…')
                ELSE trigger END AS `trigger`
        FROM {frame} ORDER BY lasted_s DESC, time, `group`""",
    ),
    (
        "Causes of rebalances",
        "rebalances",
        """SELECT cause, count(*) AS rebalances, sum(moved) AS `partitions moved`, max(lasted_s) AS `longest`
        FROM {frame} GROUP BY cause ORDER BY rebalances DESC, cause""",
    ),
    (
        "Slowest callbacks",
        "callbacks",
        """SELECT member, `group`, method, count AS calls, failures AS failed, p50_s AS `half within`,
            p95_s AS `95 % within`, p99_s AS `99 % within`, max_s AS `longest`, max_waited_s AS `waited for a poll`
        FROM {frame} WHERE max_s IS NOT NULL ORDER BY p99_s DESC, max_s DESC, member, method""",
    ),
    (
        "Most restarted",
        "slots",
        """SELECT instance_id AS `instance id`, `group`, restarts, size(array_distinct(holders.host)) AS hosts,
            element_at(holders, -1).host AS `last on`, element_at(holders, -1).pid AS process,
            coalesce(element_at(holders, -1).pod, element_at(holders, -1).spark, '') AS `pod or task`
        FROM {frame} WHERE restarts > 0 ORDER BY restarts DESC, `group`, instance_id""",
    ),
    (
        "Files that were not read in full",
        "files",
        """SELECT file, lines, torn, refused, coalesce(why, CASE WHEN copy_of IS NOT NULL
            THEN concat('a copy of ', copy_of) ELSE 'its last line is not whole' END) AS `why`
        FROM {frame} WHERE why IS NOT NULL OR torn > 0 OR copy_of IS NOT NULL
        ORDER BY refused DESC, torn DESC, file""",
    ),
)

TIMES = frozenset({"since", "at"})
"""Columns in seconds since 1970."""

DURATIONS = frozenset({"for", "took", "longest", "half within", "95 % within", "99 % within", "waited for a poll"})
"""Columns in seconds."""


def tops(spark: SparkSession, tables: Mapping[str, DataFrame]) -> Iterator[Top]:
    """One for each kind, some of them without rows."""
    for title, table, query in _TOPS:
        frame = spark.sql(query, frame=tables[table]).limit(MOST)
        yield Top(title, table, tuple(frame.columns), [tuple(row) for row in frame.collect()])


# --- the summary as one HTML file ------------------------------------------------------------------------------------

_SHORT = 28
"""A cell with at most this many letters is not wrapped."""

_WIDTH, _HEIGHT = 960, 64
_MINUTE_S, _HOUR_S = 60, 3600


def render(summary: AuditSummary, charts: Sequence[BarChart], tops: Sequence[Top]) -> str:
    """The page. Names from traces are text in it, never markup."""
    style = _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = {
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:",
        "style": style,
        "when": _when(summary),
        "figures": "".join(_figures(summary)),
        "bars": "".join(_chart(summary, chart) for chart in charts),
        "tops": "".join(map(_top, tops)),
    }
    page = _asset("page.html")
    for name, text in parts.items():
        page = page.replace("{{" + name + "}}", text, 1)
    return page


def _asset(name: str) -> str:
    return (files("membership_client_spark.audit") / "assets" / name).read_text(encoding="utf-8")


def _when(summary: AuditSummary) -> str:
    if summary.began is None or summary.ended is None:
        return "No partition had an owner"
    return f"{_clock(summary.began)} to {_clock(summary.ended)} UTC, {_duration(summary.ended - summary.began)}"


def _figures(summary: AuditSummary) -> list[str]:
    failed, refused = summary.failed_callbacks, summary.refused
    return [
        _figure(summary.groups, "groups"),
        _figure(summary.members, "members"),
        _figure(summary.partitions, "partitions"),
        _figure(summary.rebalances, "rebalances"),
        _figure(summary.restarts, "restarts"),
        _figure(summary.double_owners, "times two owners", bad=summary.double_owners > 0),
        _figure(_duration(summary.longest_gap_s), "longest without an owner"),
        _figure(failed, f"of {summary.callbacks:,} callbacks failed", bad=failed > 0),
        _figure(summary.files, f"files, {summary.copies:,} of them copies"),
        _figure(refused, f"of {summary.lines:,} lines refused, {summary.torn:,} torn", bad=refused > 0),
    ]


def _figure(value: int | str, label: str, *, bad: bool = False) -> str:
    shown = f"{value:,}" if isinstance(value, int) else value
    return f"<li{' class=bad' if bad else ''}><b>{shown}</b> <span>{html.escape(label)}</span></li>"


def _chart(summary: AuditSummary, chart: BarChart) -> str:
    most = max(chart.values)
    if summary.began is None or summary.ended is None or most == 0:
        return f"<figure><figcaption>{chart.title} <span>none</span></figcaption></figure>"
    bar = _duration((summary.ended - summary.began) / len(chart.values))
    return (
        f"<figure><figcaption>{chart.title} <span>at most {most:.3g}; a bar is {bar}</span></figcaption>"
        f"{_svg(chart, summary.began, summary.ended)}"
        f"<div class=axis><span>{_clock(summary.began)}</span><span>{_clock(summary.ended)}</span></div></figure>"
    )


def _svg(chart: BarChart, began: float, ended: float) -> str:
    """Each bar has its time and value as a tooltip."""
    most, step_s = max(chart.values), (ended - began) / BARS
    bars = "".join(
        _bar(number, value / most, f"{_clock(began + number * step_s)}: {value:.3g}")
        for number, value in enumerate(chart.values)
        if value > 0
    )
    shape = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none"'
    return f'<svg {shape} role="img" aria-label="{chart.title}, at most {most:.3g}">{bars}</svg>'


def _bar(number: int, part: float, tooltip: str) -> str:
    width = _WIDTH / BARS
    height = max(2.0, part * _HEIGHT)
    place = f'x="{number * width:g}" y="{_HEIGHT - height:.2f}" width="{width - 1.5:g}" height="{height:.2f}"'
    return f"<rect {place}><title>{tooltip}</title></rect>"


def _top(top: Top) -> str:
    if not top.rows:
        return f"<section><h2>{top.title}</h2><p>None.</p></section>"
    head = "".join(f"<th scope=col>{html.escape(column)}</th>" for column in top.columns)
    body = "".join(f"<tr>{''.join(map(_cell, top.columns, row))}</tr>" for row in top.rows)
    more = f"<p>The first {MOST}; all are in <code>{top.table}</code>.</p>" if len(top.rows) == MOST else ""
    return f"<section><h2>{top.title}</h2><div class=wide><table><tr>{head}</tr>{body}</table></div>{more}</section>"


def _cell(column: str, value: object) -> str:
    if isinstance(value, float):
        shown = _clock(value) if column in TIMES else _duration(value) if column in DURATIONS else f"{value:g}"
    else:
        shown = f"{value:,}" if isinstance(value, int) else str(value)
    return f"<td{' class=short' if len(shown) <= _SHORT else ''}>{html.escape(shown)}</td>"


def _clock(time: float) -> str:
    """In UTC, because the machines may be in several time zones."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _duration(seconds: float) -> str:
    """`0.25 s`, `12.5 s`, `4 min 10 s`, `3 h 5 min`."""
    if seconds < _MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f} min {seconds % _MINUTE_S:.0f} s"
    return f"{seconds // _HOUR_S:.0f} h {seconds % _HOUR_S // _MINUTE_S:.0f} min"
