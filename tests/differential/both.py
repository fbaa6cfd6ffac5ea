"""One program with both libraries at the same time."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import confluent_kafka

from membership_client import Consumer
from tests.differential.compare import Mismatch, compare
from tests.differential.generate import program_of
from tests.differential.play import World, play


def play_both(seed: int, world: World) -> list[Mismatch]:
    """Play the program with both libraries, each with topics and a group of its own. With an outage the broker stops in the middle."""
    program = program_of(seed, outage=world.outage is not None)
    with (
        contextlib.nullcontext() if world.outage is None else world.outage.one_program(),
        ThreadPoolExecutor(2) as pool,
    ):
        ours, theirs = (pool.submit(play, program, library, world) for library in (Consumer, confluent_kafka.Consumer))
        return compare(program, ours.result(), theirs.result())
