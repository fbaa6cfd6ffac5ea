"""Types of command-line values, for argparse's `type=`: seconds and paths."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from membership_client.arguments import LONGEST_WAIT_S


def seconds(text: str) -> float:
    """A number of seconds that is not negative, NaN or infinite: time.sleep() and timeouts raise for these, or never end."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_WAIT_S:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a number of seconds")
    return value


def path(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a path")
    return Path(text)
