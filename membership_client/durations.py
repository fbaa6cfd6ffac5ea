"""Durations in ISO 8601, as Java's tools and clients take them: P1D, PT6H, PT1H30M."""

from __future__ import annotations

import re

_FORM = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII | re.IGNORECASE)
_SECONDS = (86_400, 3600, 60, 1)


def seconds_of(text: str) -> float | None:
    """How long it is; infinite if it is longer than a float can say, None if it is no duration."""
    parts = _FORM.fullmatch(text)
    if parts is None or not any(parts.groups()):
        return None
    return sum(float(part or 0) * each_s for part, each_s in zip(parts.groups(), _SECONDS, strict=True))
