"""The summary as one HTML file that needs nothing else: no script, no network, and its own policy forbids both."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from importlib.resources import files

from membership_client_spark.audit.bars import Strip, drawn
from membership_client_spark.audit.summary import AuditSummary
from membership_client_spark.audit.tops import DURATIONS, MOST, TIMES, Top
from membership_client_spark.audit.words import clock, lasting

_SHORT = 28
"""Letters that stay on one line."""


def render(summary: AuditSummary, strips: Sequence[Strip], tops: Sequence[Top]) -> str:
    """Names out of traces are text in it, never markup."""
    style = _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = {
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:",
        "style": style,
        "when": _when(summary),
        "figures": "".join(_figures(summary)),
        "bars": "".join(_strip(summary, strip) for strip in strips),
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
        return "Nobody owned anything"
    return f"{clock(summary.began)} to {clock(summary.ended)} UTC, {lasting(summary.ended - summary.began)}"


def _figures(summary: AuditSummary) -> list[str]:
    return [
        _figure(summary.groups, "groups"),
        _figure(summary.members, "members"),
        _figure(summary.partitions, "partitions"),
        _figure(summary.rebalances, "rebalances"),
        _figure(summary.restarts, "restarts"),
        _figure(summary.double_owners, "times two owners", bad=summary.double_owners > 0),
        _figure(lasting(summary.longest_gap_s), "longest without an owner"),
        _figure(
            summary.failed_callbacks, f"of {summary.callbacks:,} callbacks failed", bad=summary.failed_callbacks > 0
        ),
        _figure(summary.files, f"files, {summary.copies:,} of them copies"),
        _figure(summary.refused, f"of {summary.lines:,} lines refused, {summary.torn:,} torn", bad=summary.refused > 0),
    ]


def _figure(value: int | str, told: str, *, bad: bool = False) -> str:
    shown = f"{value:,}" if isinstance(value, int) else value
    return f"<li{' class=bad' if bad else ''}><b>{shown}</b> <span>{html.escape(told)}</span></li>"


def _strip(summary: AuditSummary, strip: Strip) -> str:
    most = max(strip.values)
    if summary.began is None or summary.ended is None or most == 0:
        return f"<figure><figcaption>{strip.title} <span>none</span></figcaption></figure>"
    bar = lasting((summary.ended - summary.began) / len(strip.values))
    return (
        f"<figure><figcaption>{strip.title} <span>at most {most:.3g}; a bar is {bar}</span></figcaption>"
        f"{drawn(strip, summary.began, summary.ended)}"
        f"<div class=axis><span>{clock(summary.began)}</span><span>{clock(summary.ended)}</span></div></figure>"
    )


def _top(top: Top) -> str:
    if not top.rows:
        return f"<section><h2>{top.title}</h2><p>None.</p></section>"
    head = "".join(f"<th scope=col>{html.escape(column)}</th>" for column in top.columns)
    body = "".join(f"<tr>{''.join(map(_cell, top.columns, row))}</tr>" for row in top.rows)
    more = f"<p>The first {MOST}; all are in <code>{top.table}</code>.</p>" if len(top.rows) == MOST else ""
    return f"<section><h2>{top.title}</h2><div class=wide><table><tr>{head}</tr>{body}</table></div>{more}</section>"


def _cell(column: str, value: object) -> str:
    if isinstance(value, float):
        shown = clock(value) if column in TIMES else lasting(value) if column in DURATIONS else f"{value:g}"
    else:
        shown = f"{value:,}" if isinstance(value, int) else str(value)
    return f"<td{' class=short' if len(shown) <= _SHORT else ''}>{html.escape(shown)}</td>"
