"""Programs of every public class that reads, for half a minute each: longer with `python -m tests.soak`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.soak.run import Plan, Run, failure_of
from tests.soak.seated_kafka import SeatedKafka, seated_kafka

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

PLANS = [
    Plan(("member", "aio-member"), seed=1),
    Plan(("consumer-poll", "aio-consumer"), seed=2),
    Plan(("consumer-consume", "consumer-iterate"), "classic", seed=3),
]


@pytest.fixture(scope="module")
def kafka_with_seats() -> Iterator[SeatedKafka]:
    with seated_kafka() as kafka:
        yield kafka


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: "-and-".join(plan.programs))
def test_whatever_happens_to_programs_nothing_is_lost_doubled_or_set_back(
    kafka_with_seats: SeatedKafka, tmp_path: Path, plan: Plan
) -> None:
    """Every record comes, in order, to an owner; never again once it is committed; and no commit goes back.

    Beside a busy thread, programs of GroupMember and of Spark slots lost records that they were told were not theirs,
    and commits under way while their member was thrown out and let in again set the group back.
    """
    run = Run(kafka_with_seats, tmp_path, plan)
    result = run.run()
    failure = failure_of(result)
    assert not failure, "\n".join([plan.command, *failure, run.story(), json.dumps(result)])
    assert len(result["troubles"]) >= 3, f"too little happened: {result}"
    assert result["counts"]["lost"], f"nobody was thrown out: {result}"
    assert result["counts"]["revoke"], f"nobody gave partitions up: {result}"
