"""The whole demonstration, run as its user does; its summary is read back and checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from tests.demo.demo_process import Launch, StepSummary, parse_summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.testing import KafkaCluster

pytestmark = pytest.mark.deep


def owned_at_the_end(step: StepSummary, partitions: int) -> bool:
    return f"all {partitions} partitions are owned at the end" in step.met


def was_unnoticed(step: StepSummary) -> bool:
    """The epoch is the same, the other members had no callback and no rebalance, and the member owns the same partitions again."""
    before, after = re.findall(r"\d+", step.facts[next(key for key in step.facts if key.startswith("group epoch"))])[:2]
    silent = "the others ran 0 callbacks and saw 0 rebalances" in step.met
    return silent and before == after and any(" again, " in text for text in step.met)


def check_all_steps(output: str) -> None:
    join, late, restart, takeover, leave = parse_summary(output)
    assert [step.unmet for step in (join, late, restart, takeover, leave)] == [[]] * 5
    assert all(owned_at_the_end(step, 6) for step in (join, late, restart, takeover))
    assert late.facts["moved"].count("-> orders-c") == 2
    assert late.facts["rebalances seen by other members"] == "2"
    assert was_unnoticed(restart)
    assert was_unnoticed(takeover)
    assert "was killed with SIGKILL" in output
    assert "the coordinator counts 0 members" in leave.met
    assert output.rstrip().endswith("expectations were met.")


@pytest.mark.kafka
def test_on_real_kafka_everything_is_as_promised() -> None:
    launch = Launch(("--plain", "--broker", "kafka"))
    done = launch.run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    check_all_steps(done.stdout)
    assert "the broker's log has 3 of 3 reasons for leaving" in parse_summary(done.stdout)[-1].met
    assert launch.await_silence(30) == []


@pytest.mark.kafka
def test_on_the_users_cluster_nothing_is_left_behind(kafka_factory: Callable[..., KafkaCluster]) -> None:
    kafka = kafka_factory(settings={"group.consumer.heartbeat.interval.ms": 1000})
    done = Launch(("--plain", "--bootstrap-servers", kafka.bootstrap_servers)).run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    check_all_steps(done.stdout)
    name = re.search(r"creating topic (membership-client-demo-\w+)", done.stdout)
    assert name is not None
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    assert name[1] not in admin.list_topics(timeout=10).topics
    assert name[1] not in {group.group_id for group in admin.list_consumer_groups().result(10).valid}


def test_without_java_everything_is_as_promised() -> None:
    """A pipe gets ASCII without cursor control, even without --plain."""
    launch = Launch(())
    done = launch.run()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    check_all_steps(done.stdout)
    assert "the broker's log has 3 of 3 reasons for leaving" in parse_summary(done.stdout)[-1].met
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert launch.await_silence(30) == []
