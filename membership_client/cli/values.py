"""Types of command-line values, for argparse's `type=`: seconds and paths."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from membership_client.arguments import LONGEST_WAIT_S


def seconds(text: str) -> float:
    """A number of seconds. Negative numbers, NaN and infinity are refused: time.sleep() and timeouts raise for them, or never end."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_WAIT_S:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a number of seconds")
    return value


_UNITS = {"s": 1.0, "m": 60.0}


def duration(text: str) -> float:
    """Seconds, as a number or with a unit: `60`, `60s`, `2m`."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        return seconds(str(float(number) * _UNITS[unit]))
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a duration such as 60s or 2m") from None


def path(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a path")
    return Path(text)
