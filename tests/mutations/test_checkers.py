"""The simulation has teeth: a bug of the table is found in few seeds, by the rule that it breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.mutations import MUTATIONS
from tests.mutations.project import copy_of_the_project, run_in

pytestmark = pytest.mark.deep

MOST_SEEDS = 400

BUGS = {
    "which the coordinator believes to be free": "what a callback is bringing is left out of what we hold",
    ", and so does": "a leader gives away what others still hold",
    "owned changed without a callback": "acknowledged before the callback returned",
    "is not told that its partitions are lost": "a fence does not tell the running callback",
    "yet the application is not told that partitions are lost": "nothing is lost on a fence",
    "says goodbye while it still owns partitions": "the coordinator is told before the partitions are given back",
    "requests in a second": "no backoff after a refusal",
    "joins an eager group while it owns": "an eager member keeps its partitions while it joins",
    "fenced by its own words": "nothing is said again after a lost connection",
    "when its session ended": "a session ends only at the coordinator",
    "does not come to rest": "a new target is dropped while a callback runs",
}
"""Words of a rule's complaint, and a bug that breaks it."""


@pytest.mark.parametrize(("rule", "bug"), BUGS.items(), ids=BUGS.values())
def test_the_broken_rule_is_named(rule: str, bug: str, tmp_path: Path) -> None:
    """So that a checker that has stopped looking is noticed."""
    root = copy_of_the_project(tmp_path)
    next(mutation for mutation in MUTATIONS if mutation.name == bug).apply(root)
    result = run_in(root, "tests.simulation.find", rule, str(MOST_SEEDS))
    assert rule in result.stdout, result.stderr[-2000:]
