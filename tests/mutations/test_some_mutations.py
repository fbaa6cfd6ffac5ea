"""A few of the mutations, others with each commit, so that every change meets some of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutations.mutations import MUTATIONS, Mutation
from tests.mutations.project import ROOT
from tests.mutations.suite import expect_notice

COUNT = 3


def of_this_commit() -> list[Mutation]:
    """Neighbours in the table, beginning at a place that the commit's hash decides; outside of git, the first ones."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    start = int(head.strip() or "0", 16) % len(MUTATIONS)
    return [MUTATIONS[(start + step) % len(MUTATIONS)] for step in range(COUNT)]


@pytest.mark.parametrize("mutation", of_this_commit(), ids=lambda mutation: mutation.name)
def test_the_suite_notices(mutation: Mutation, tmp_path: Path) -> None:
    """As the test of the same name in test_mutations.py, which has all of them."""
    expect_notice(mutation, tmp_path)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_mutation_finds_its_line(mutation: Mutation) -> None:
    """A change of the core that moves the line is told here, not an hour later by the deep tier."""
    assert mutation.applied(ROOT)
