"""Keys whose order in a Java hash table is certain: those that share a bucket come in an order that has a history."""

from __future__ import annotations

from collections.abc import Sequence

from membership_client.testing.fake_assignor import hash_order

_SIZE = 16
"""Of a table with up to twelve keys."""


def apart(hashes: Sequence[int]) -> bool:
    """Does each of these keys have a bucket of its own?"""
    # Keys of one bucket keep the order in which they are given; all others do not care.
    return len(hashes) <= _SIZE * 3 // 4 and hash_order(hashes, int) == hash_order(hashes[::-1], int)
