"""Reads Java's properties files, as java.util.Properties does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from membership_client.errors import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A key ends at the first separator that is not escaped; blanks may surround one = or :.
_PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)


def read_properties(text: str) -> dict[str, str]:
    """The keys and values; the last of two equal keys wins. ConfigError for a broken escape; it does not show the value."""
    pairs = (_pair(line) for line in _logical_lines(text))
    return dict(pairs)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank lines. A line that ends in an odd number of backslashes continues on the next."""
    begun = ""
    for line in re.split(r"\r\n|\r|\n", text):
        part = line.lstrip(" \t\f")
        if not begun and (not part or part[0] in "#!"):
            continue
        if (len(part) - len(part.rstrip("\\"))) % 2:
            begun += part[:-1]
            continue
        yield begun + part
        begun = ""
    if begun:
        yield begun


def _pair(line: str) -> tuple[str, str]:
    match = _PAIR.match(line)
    assert match is not None, "the pattern matches everything"
    key = _plain(match[1], "a key")
    return key, _plain(match[2], key)


def _plain(text: str, where: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1] == "u":
            raise ConfigError(f"The value of {where} has a \\u that is not followed by four hexadecimal digits.")
        if match[1][0] == "u":
            return chr(int(match[1][1:], 16))
        return _ESCAPES.get(match[1], match[1])

    return _ESCAPE.sub(replace, text)
