"""Settings under which slots could not live are refused before anything starts, in words that say what to change."""

from __future__ import annotations

import pytest

from membership_client_spark import SparkSettingsError
from membership_client_spark.arguments import check_settings, cpus_per_slot, notes

CLUSTER = {"spark.master": "spark://127.0.0.1:7077", "spark.executor.cores": "2"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"spark.speculation": "true"}, "spark.speculation=false"),
        ({"spark.master": "local[2]"}, "leaves room for 2"),
        ({"spark.master": "local[4,8]", "spark.task.cpus": "2"}, "leaves room for 2"),
        ({"spark.master": "local"}, "leaves room for 1"),
        ({"spark.master": "local-cluster[2,1,1024]"}, "leaves room for 2"),
        ({"spark.master": "local-cluster[2, 2, 1024]", "spark.executor.cores": "2"}, "leaves room for 2"),
        ({"spark.cores.max": "2"}, "spark.cores.max=2"),
        ({**CLUSTER, "spark.cores.max": "5"}, "spark.cores.max=5 leaves room for 2"),
        ({**CLUSTER, "spark.executor.instances": "2"}, "spark.executor.instances=2 leaves room for 2"),
        (
            {**CLUSTER, "spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "2"},
            "maxExecutors=2 leaves room for 2",
        ),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, str], words: str) -> None:
    """Three slots: two attempts of one, or one that never starts, would be found out much later.

    Room used to be counted in tasks of one core, although a slot asks for a whole executor where it can.
    """
    with pytest.raises(SparkSettingsError, match=words):
        check_settings(settings.get, 3)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"spark.master": "local[*]"},
        {"spark.master": "local[3,4]", "spark.speculation": "false"},
        {"spark.master": "local-cluster[3,1,1024]"},
        {"spark.master": "local-cluster[2,2,1024]"},
        {"spark.master": "local-cluster[1,4,1024]", "spark.executor.cores": "1"},
        {**CLUSTER, "spark.executor.instances": "3", "spark.cores.max": "6"},
        {"spark.master": "spark://127.0.0.1:7077", "spark.cores.max": "3"},
        {**CLUSTER, "spark.dynamicAllocation.enabled": "true", "spark.executor.instances": "1"},
    ],
)
def test_what_can_work_is_not(settings: dict[str, str]) -> None:
    """Room for three, or nothing known that says otherwise."""
    check_settings(settings.get, 3)


def test_a_slot_asks_for_all_cores_of_an_executor_where_that_is_possible() -> None:
    """So that one lost executor takes one slot along and not two; in local mode Spark allows no such request."""
    assert cpus_per_slot(CLUSTER.get) == 2
    assert cpus_per_slot({**CLUSTER, "spark.executor.cores": "1"}.get) is None
    assert cpus_per_slot({**CLUSTER, "spark.master": "local[4]"}.get) is None


def test_what_has_a_price_is_explained() -> None:
    """One sentence for each."""
    assert len(list(notes({"spark.task.maxFailures": "1", "spark.master": "spark://x:1"}.get))) == 2
    assert list(notes(CLUSTER.get)) == []
