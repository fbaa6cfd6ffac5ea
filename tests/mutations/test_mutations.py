"""The suite has teeth: it notices every one-line bug in the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.mutations import MUTATIONS, Mutation
from tests.mutations.project import copy_of_the_project
from tests.mutations.suite import expect_notice, run_suite

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]
# The tests of the core take half a minute of a processor, and a busy machine has other things to do meanwhile.


def test_the_suite_passes_without_a_mutation(tmp_path: Path) -> None:
    """What is measured against is healthy."""
    result = run_suite(copy_of_the_project(tmp_path))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_suite_notices(mutation: Mutation, tmp_path: Path) -> None:
    """One test at least fails, and it is a test that fails, not the import."""
    expect_notice(mutation, tmp_path)
