"""Orders in which clients of several kinds join one group: all there are or a sample, several groups at a time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.peers.peer import PeerKind

Order = tuple[PeerKind, ...]

# Members wait for each other most of the time, so some groups at once take hardly longer than one.
_AT_A_TIME = 4


def orders_of(kinds: Sequence[PeerKind]) -> list[Order]:
    """Two members of each kind, in every order that can be told apart: 6 for two kinds, 90 for three."""
    return sorted(set(itertools.permutations((*kinds, *kinds))))


def some_of(orders: Sequence[Order], count: str, seed: str) -> list[Order]:
    """So many of them, or "all"; the same ones whenever the seed is the same."""
    wanted = len(orders) if count == "all" else min(int(count), len(orders))
    return random.Random(seed).sample(list(orders), wanted)


def play_each(orders: Sequence[Order], play: Callable[[Order], None]) -> None:
    """Plays every order, whatever becomes of the others; an AssertionError tells all that failed."""

    def verdict(order: Order) -> str | None:
        try:
            play(order)
        except Exception as error:  # noqa: BLE001 - one order that fails must not hide another
            return f"{'-'.join(order)}: {error!r}"
        return None

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        failures = [told for told in pool.map(verdict, orders) if told is not None]
    assert not failures, f"{len(failures)} of {len(orders)} orders failed:\n" + "\n".join(failures)
