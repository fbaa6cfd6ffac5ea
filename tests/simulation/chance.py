"""Chances that depend on what they are about and not on how often anything was drawn before.

So a script from which something was removed plays the rest as before, as far as it can: shorter failing scripts are
found because the failure stays.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chance:
    seed: int

    def share(self, *about: object) -> float:
        """A number from 0 up to, but not including, 1."""
        return zlib.crc32(f"{self.seed}:{about}".encode()) / 2**32

    def happens(self, probability: float, *about: object) -> bool:
        return probability > 0 and self.share(*about) < probability

    def between(self, lowest: float, highest: float, *about: object) -> float:
        return lowest + (highest - lowest) * self.share(*about)
