"""One line of a trace as JSON, within bounds: what is behind this reader never meets NaN, a lone surrogate or deep nesting.

A trace may come from anywhere. A line of thirty bytes must not cost gigabytes (`"0-999999999"` as partitions), and no
value may be one that Python, a browser or a terminal cannot handle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from membership_client.partition_text import count_of
from membership_client.trace.format import PARTITION_FIELDS
from membership_client.trace.values import Json

LONGEST_BYTES = 16 << 20
"""The plan of a leader of two hundred thousand partitions fits."""

MOST_PARTITIONS = 200_000
"""That one line may name by ranges. They become objects, of about a kilobyte each in a report."""

_DEEPEST = 24
"""Members write 10 levels."""

_LARGEST = 2**63
"""Kafka's largest numbers have 64 bits; all times are far smaller."""

_HALVES = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class LineError(ValueError):
    """What is wrong with a line: the rest of a sentence that begins with it, without its full stop."""


def parse_line(text: bytes) -> dict[str, Json]:
    """LineError if it is none, or not within bounds."""
    if len(text) > LONGEST_BYTES:
        raise LineError(f"is longer than {LONGEST_BYTES >> 20} MiB")
    # Half a character from a torn trace is no reason to refuse the rest.
    line = text.decode(errors="replace")
    entry = _loaded(line)
    if not isinstance(entry, dict):
        raise LineError("is not a line of a trace")
    _check(entry, 1)
    return _whole(entry) if _HALVES.search(line) else entry


def partitions_of(value: Json) -> int:
    """How many partitions a line names by ranges. LineError if they are too many, or no ranges."""
    count = _partitions_of(value)
    if count > MOST_PARTITIONS:
        raise LineError(f"names {count} partitions; the limit is {MOST_PARTITIONS}")
    return count


def _loaded(line: str) -> Json:
    try:
        return json.loads(line, parse_constant=_refuse)
    except RecursionError:
        raise LineError("is nested too deeply") from None
    except LineError:
        raise
    except ValueError:
        return None


def _refuse(constant: str) -> Json:
    raise LineError(f"has {constant} as a number")


def _check(value: Json, depth: int) -> None:
    if depth > _DEEPEST:
        raise LineError(f"is nested deeper than {_DEEPEST} levels")
    parts = value.values() if isinstance(value, dict) else value
    for part in parts:
        kind = type(part)
        if kind is dict or kind is list:
            _check(part, depth + 1)
        elif (kind is int or kind is float) and not -_LARGEST <= part < _LARGEST:
            raise LineError("has a number that is too large")


def _partitions_of(value: Json) -> int:
    if isinstance(value, list):
        return sum(map(_partitions_of, value))
    if not isinstance(value, dict):
        return 0
    return sum(
        _named_by(part) if key in PARTITION_FIELDS and isinstance(part, dict) else _partitions_of(part)
        for key, part in value.items()
    )


def _named_by(topics: Mapping[str, Json]) -> int:
    try:
        return sum(count_of(text) for text in topics.values() if isinstance(text, str))
    except ValueError as error:
        raise LineError(f"cannot be read: {error}") from None


def _whole(value: Json) -> Json:
    """Without halves of characters, which no file and no terminal can be given."""
    if isinstance(value, str):
        return _LONE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(part) for key, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list) else value
