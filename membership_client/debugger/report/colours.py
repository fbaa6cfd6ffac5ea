"""A colour for each member, the same in every report, and different from the others' in this one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

COLOURS = 10
TEXTURES = 5


def colours_of(names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Colour and texture by name. A name decides its colour, unless it is taken; textures come once colours run out."""
    chosen: dict[str, tuple[int, int]] = {}
    taken = [0] * COLOURS
    for name in sorted(set(names)):
        wanted = zlib.crc32(name.encode(errors="replace")) % COLOURS
        colour = min(range(COLOURS), key=lambda one: (taken[one], (one - wanted) % COLOURS))
        chosen[name] = colour, taken[colour] % TEXTURES
        taken[colour] += 1
    return chosen
