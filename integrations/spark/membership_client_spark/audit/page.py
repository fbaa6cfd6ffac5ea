"""The summary as one HTML file that needs nothing else: no script, no network, and its own policy forbids both."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files

from membership_client_spark.audit.summary import BARS, DURATIONS, MOST, TIMES, AuditSummary, BarChart, Top

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
