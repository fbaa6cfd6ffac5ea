"""DeltaSink, on the newest pyspark that Delta Lake is published for, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.versions.other_pyspark import DELTA, OtherPyspark

pytestmark = [pytest.mark.deep, pytest.mark.timeout(1800)]

INSIDE = Path(__file__).with_name("inside")


@pytest.fixture
def delta_spark() -> OtherPyspark:
    return DELTA


def test_the_sink_by_itself(delta_spark: OtherPyspark) -> None:
    """All tests of inside/delta_sink.py pass there."""
    ended = delta_spark.run(
        "-m", "pytest", "-p", "no:cacheprovider", "-o", "timeout=600", str(INSIDE / "delta_sink.py")
    )
    assert ended.returncode == 0, ended.stdout


@pytest.mark.kafka
@pytest.mark.parametrize("sink", ["delta", "delta-merge", "plain"])
def test_drivers_are_killed_while_records_arrive(delta_spark: OtherPyspark, sink: str) -> None:
    """No record is lost or there twice; in the control, an append without a position, the judge finds some twice.

    More of them: python -m tests.spark.kills.
    """
    ended = delta_spark.run("-m", "tests.spark.kills", "--kills", "4", "--seed", "1", "--sink", sink)
    assert ended.returncode == 0, ended.stdout
