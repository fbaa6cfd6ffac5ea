"""One program with both libraries at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import confluent_kafka

from membership_client import Consumer
from tests.differential.compare import Mismatch, compare
from tests.differential.generate import program_of
from tests.differential.play import World, play


def play_both(seed: int, world: World) -> list[Mismatch]:
    """Each library has topics and a group of its own."""
    program = program_of(seed)
    with ThreadPoolExecutor(2) as pool:
        ours, theirs = (pool.submit(play, program, library, world) for library in (Consumer, confluent_kafka.Consumer))
        return compare(program, ours.result(), theirs.result())
