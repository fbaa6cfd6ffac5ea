"""Text from traces, brokers and files, made safe for a terminal: without control characters."""

from __future__ import annotations

import json
import re
from typing import Any

_LONGEST = 200
_UNPRINTED = re.compile(r"[^\n -~]")


def printable(line: str) -> str:
    """The line with a replacement character for each character that is not printable."""
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)


def excerpt(text: str) -> str:
    """The beginning of the text, short enough for a sentence."""
    return printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def json_text(data: Any, indent: int | None = None) -> str:
    """JSON with escapes for characters that are not printable, and lone surrogates replaced. ValueError for NaN."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    return _UNPRINTED.sub(lambda found: _escaped(found[0]), text)


def _escaped(letter: str) -> str:
    if letter.isprintable():
        return letter
    if "\ud800" <= letter <= "\udfff":
        return "\\ufffd"
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"
