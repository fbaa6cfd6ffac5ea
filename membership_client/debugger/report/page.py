"""One HTML file that needs nothing else: style, program and data are inside, and the browser is told to load no more."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files

from membership_client.cli.terminal_text import json_text
from membership_client.debugger.report.content import ReportContent
from membership_client.debugger.report.page_data import page_data, title_of
from membership_client.trace.values import Json

SCRIPTS = (
    "time", "model", "viewport", "lanes", "theme", "glyphs", "places", "pen", "member_row", "partition_row", "draw",
    "axis", "minimap", "tip", "findings", "legend", "input", "page", "main",
)  # fmt: skip
"""In this order: each uses the ones before it."""


def render(content: ReportContent) -> str:
    """Nothing out of a trace is markup in it: texts are data, which the program inserts as text."""
    style = _asset("page.css")
    script = "\n".join(['(() => {\n"use strict";', *(_asset(f"{name}.js") for name in SCRIPTS), "})();"])
    parts = {
        "policy": html.escape(_policy(style, script)),
        "title": html.escape(title_of(content)),
        "style": style,
        "script": script,
        "data": _inert(page_data(content)),
    }
    page = _asset("page.html")
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _policy(style: str, script: str) -> str:
    """Only this very style and this very program, by their hashes; no network at all."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _inert(data: Json) -> str:
    """JSON in which no tag can begin or end."""
    return json_text(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return (files("membership_client.debugger.report") / "assets" / name).read_text(encoding="utf-8")
