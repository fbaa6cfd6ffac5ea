"""Starts the processes that play seeds, and says how far they are."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing

import pytest

from tests.simulation.fleet import Fleet, Outcome, cut, play_seeds
from tests.simulation.tally import TALLY, Tally
from tests.summaries import add_summary


@pytest.fixture(scope="session")
def playing(pytestconfig: pytest.Config) -> Iterator[Callable[[range], Outcome]]:
    """Plays seeds: in other processes, or in this one if only one is asked for, so that a debugger can look."""
    if pytestconfig.getoption("seed") is not None:
        yield play_seeds
        return
    with closing(Fleet(cut(pytestconfig.getoption("seeds")))) as fleet:
        yield fleet.outcome


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    one = pytestconfig.getoption("seed") is not None
    made = pytestconfig.stash[TALLY] = Tally(1 if one else pytestconfig.getoption("seeds"))
    add_summary(pytestconfig, made)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Says every now and then how far a long run is."""
    done = yield
    found, reporter = item.config.stash.get(TALLY, None), item.config.pluginmanager.get_plugin("terminalreporter")
    if found is not None and reporter is not None and (news := found.news()) is not None:
        reporter.write_line(f"\n{news}")
    return done
