"""Time that none of many intervals covers, told by the interval before it and the one after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def uncovered(
    items: Sequence[T], began: Callable[[T], float], ended: Callable[[T], float]
) -> Iterator[tuple[T, T | None]]:
    """`items` by when each began, and at least one. Last comes the one that ends last, with nothing after it."""
    last = items[0]
    for following in items[1:]:
        if began(following) > ended(last):
            yield last, following
        if ended(following) >= ended(last):
            last = following
    yield last, None
