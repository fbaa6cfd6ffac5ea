"""Programs that end without closing: asyncio.run() returns, the process ends, and nothing is written to stderr."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from membership_client.testing import ClusterAdmin, guard
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage
from tests.integration.members import PATIENCE_S

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).parents[2]
_SLOW = re.compile(r"Executing <.* took \d+\.\d+ seconds$")
"""What asyncio says in development mode of a callback that took a tenth of a second."""

BEGINNING = """
import asyncio, sys
from membership_client import aio

servers, topic, group = sys.argv[1:]
config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
"""

AFTER_A_RECORD = """
async def main():
    consumer = aio.Consumer(config)
    consumer.subscribe([topic])
    assert await consumer.getone() is not None

asyncio.run(main())
"""

WHILE_A_TASK_AWAITS_RECORDS = """
async def main():
    consumer = aio.Consumer(config)
    consumer.subscribe([topic])
    assert await consumer.getone() is not None
    task = asyncio.create_task(consumer.getmany(timeout_s=None))
    other = asyncio.create_task(consumer.getone())
    await asyncio.wait({task, other}, timeout=0.1)

asyncio.run(main())
"""

A_MEMBER = """
async def main():
    member = aio.GroupMember({key: config[key] for key in ("bootstrap.servers", "group.id")})
    member.subscribe([topic])
    await member.wait_until(lambda now: bool(now.owned))
    task = asyncio.create_task(member.wait_until(lambda now: False))
    await asyncio.sleep(0)

asyncio.run(main())
"""

INSIDE_A_CALLBACK = """
async def main():
    called = asyncio.Event()

    async def on_assign(consumer, partitions):
        called.set()
        await asyncio.Event().wait()

    consumer = aio.Consumer(config)
    consumer.subscribe([topic], on_assign=on_assign)
    task = asyncio.create_task(consumer.getone())
    await called.wait()

asyncio.run(main())
"""

IN_A_FORK = """
import os

async def begin():
    consumer = aio.Consumer(config)
    consumer.subscribe([topic])
    assert await consumer.getone() is not None
    return consumer

async def use(consumer):
    try:
        await consumer.getone()
    except Exception as error:
        assert type(error).__name__ == "ForkedMemberError", error
        assert "parent" in (await consumer.close()).reason
        os._exit(7)

consumer = asyncio.run(begin())
if (child := os.fork()) == 0:
    asyncio.run(use(consumer))
    os._exit(1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7
assert asyncio.run(consumer.getone()) is not None
assert asyncio.run(consumer.close()).clean
"""


def end_of(stage: Stage, program: str) -> tuple[int, str]:
    """The program's exit code, and whatever it complained of; that the machine is slow is no complaint."""
    arguments = [stage.group.bootstrap_servers, stage.topic, stage.group.id]
    process = subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", BEGINNING + program, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    guard.watch_process(process.pid)
    _, complaints = process.communicate(timeout=PATIENCE_S)
    return process.returncode, "".join(line for line in complaints.splitlines(True) if not _SLOW.match(line))


@pytest.mark.parametrize("program", [AFTER_A_RECORD, WHILE_A_TASK_AWAITS_RECORDS, A_MEMBER])
def test_a_loop_that_ends_with_everything_open(new_stage: NewStage, program: str) -> None:
    """The interpreter's end closes the member; the group does not wait for its session to expire."""
    stage = new_stage(partitions=1)
    stage.produce(3)
    assert end_of(stage, program) == (0, "")
    assert not ClusterAdmin(stage.group.bootstrap_servers).describe(stage.group.id).members


def test_a_forked_child_finds_a_consumer_that_is_its_parents(new_stage: NewStage) -> None:
    """It is told so, its close() does nothing, and the parent goes on, in a new loop if it wants."""
    stage = new_stage(partitions=1)
    stage.produce(3)
    assert end_of(stage, IN_A_FORK) == (0, "")


def test_a_loop_that_ends_inside_a_callback(new_stage: NewStage) -> None:
    """The callback is cancelled with the loop's other tasks, which is logged as its failure; nothing hangs."""
    stage = new_stage(partitions=1)
    code, complaints = end_of(stage, INSIDE_A_CALLBACK)
    assert code == 0
    assert "Warning" not in complaints
    assert "as the other tasks of its event loop were" in complaints
