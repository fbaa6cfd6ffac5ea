"""How many seeds were played, and how long that took."""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass
class Tally:
    seeds: int = 0
    seconds: float = 0.0


TALLY = pytest.StashKey[Tally]()
