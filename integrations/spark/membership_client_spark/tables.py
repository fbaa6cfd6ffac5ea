"""Tables of progress, as text for terminals and logs, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Row = Sequence[str]


def text_table(heads: Row, rows: Sequence[Row]) -> str:
    """Columns as wide as they need to be, without a line in between."""
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def counted(count: int, thing: str) -> str:
    """`1 epoch`, `1,000 records`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def html_table(caption: str, heads: Row, rows: Sequence[Row]) -> str:
    """The same for `_repr_html_`. Everything in it is escaped."""
    lines = [_html_row("th", heads), *(_html_row("td", row) for row in rows)]
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def _html_row(kind: str, cells: Row) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"
