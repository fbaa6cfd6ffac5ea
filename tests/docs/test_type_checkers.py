"""A type checker finds a wrong callback in a user's program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.deep

PROGRAM = """
from confluent_kafka import TopicPartition as Place
from membership_client import CallbackContext, Consumer, GroupMember, RebalanceListener, TopicPartition, aio

class Wrong(RebalanceListener):
    def on_partitions_revoked(self, partitions: int) -> None:  # refused: override
        print(partitions)
    async def on_partitions_lost(self, partitions: object, context: object) -> None:  # refused: override
        print(partitions)

class Right(RebalanceListener):
    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        print(partitions, context.epoch)

def one(consumer: Consumer) -> None: ...
def two(consumer: Consumer, partitions: list[Place]) -> None: ...
def three(consumer: Consumer, partitions: list[Place], context: CallbackContext) -> bool: return context.lost
def four(consumer: Consumer, partitions: list[Place], context: CallbackContext, more: int) -> None: ...
def of_numbers(consumer: Consumer, partitions: list[int]) -> None: ...
def with_a_time(consumer: Consumer, partitions: list[Place], deadline: float) -> None: ...
async def coroutine(consumer: aio.Consumer, partitions: list[Place], context: CallbackContext) -> None: ...
async def coroutine_of_one(consumer: aio.Consumer) -> None: ...
def observe(step: int) -> None: ...

config = {"bootstrap.servers": "localhost:9092", "group.id": "shop"}
consumer = Consumer(config)
consumer.subscribe(["orders"], on_assign=two, on_revoke=three, on_lost=lambda consumer, partitions: print(partitions))
consumer.subscribe(["orders"], on_assign=one)  # refused: arg-type
consumer.subscribe(["orders"], on_revoke=four)  # refused: arg-type
consumer.subscribe(["orders"], on_lost=of_numbers)  # refused: arg-type
consumer.subscribe(["orders"], on_lost=with_a_time)  # refused: arg-type
consumer.subscribe(["orders"], on_revoked=two)  # refused: call-arg
waiting = aio.Consumer(config)
waiting.subscribe(["orders"], on_assign=coroutine)
waiting.subscribe(["orders"], on_assign=coroutine_of_one)  # refused: arg-type
GroupMember(config, listener=Right())
GroupMember(config, observers=[observe])  # refused: list-item
"""


def test_mypy_refuses_wrong_callbacks_and_no_right_one(tmp_path: Path) -> None:
    """Callbacks of `Consumer` once had the type of any callable, so a missing argument was found only in the first rebalance."""
    program = tmp_path / "shop.py"
    program.write_text(PROGRAM)
    options = ["--strict", "--config-file", "", "--cache-dir", str(ROOT / ".mypy_cache"), "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, str(program)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    wanted = {
        (number, line.partition("# refused: ")[2])
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "# refused: " in line
    }
    errors = (line for line in told.splitlines() if ": error: " in line)
    found = {(int(line.split(":")[1]), line.rpartition("[")[2].rstrip("]")) for line in errors}
    assert found == wanted, told
