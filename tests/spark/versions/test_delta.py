"""DeltaSink, on the newest pyspark that Delta Lake is published for, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.versions.other_pyspark import DELTA, OtherPyspark

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

INSIDE = Path(__file__).with_name("inside")


@pytest.fixture
def delta_spark() -> OtherPyspark:
    return DELTA


def test_the_sink_by_itself(delta_spark: OtherPyspark) -> None:
    """All tests of inside/delta_sink.py pass there."""
    ended = delta_spark.run("-m", "pytest", "-p", "no:cacheprovider", str(INSIDE / "delta_sink.py"))
    assert ended.returncode == 0, ended.stdout
