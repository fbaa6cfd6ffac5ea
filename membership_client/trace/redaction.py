"""What a trace leaves out, so that it can be attached to a ticket.

An exception's message is the application's own text, and may well quote the record it failed on. Its type and the
places it passed are what a rebalance is debugged with.
"""

from __future__ import annotations

import re

_PLACE = re.compile(r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<function>.*)$')
_TYPE = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::|$)")


def redacted(error: str) -> str:
    """`ValueError at load (shop.py:12) < on_assign (shop.py:40)`, innermost place first."""
    lines = error.splitlines()
    places = [_place(match) for line in lines if (match := _PLACE.match(line))]
    kinds = [
        match["type"] for line in lines if (match := _TYPE.match(line)) and line != "Traceback (most recent call last):"
    ]
    return (
        " < ".join([f"{kinds[-1] if kinds else 'an exception'} at {places[-1]}", *reversed(places[:-1])])
        if places
        else (kinds[-1] if kinds else "an exception")
    )


def _place(match: re.Match[str]) -> str:
    return f"{match['function']} ({match['file'].rpartition('/')[2]}:{match['line']})"
