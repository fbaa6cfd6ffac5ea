"""Starts the processes that play seeds, and prints their progress."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from tests.simulation.fleet import Fleet, Outcome, cut, play_seeds
from tests.simulation.sentences import read_seeds
from tests.simulation.tally import TALLY, Tally
from tests.summaries import add_summary
from tests.tiers import tier_of

_QUICK = range(200)
"""Seeds of the quick tier; those after them are of the deep tier."""


def _seeds_of(module: ModuleType, config: pytest.Config) -> range:
    """The seeds that the options ask for, as far as they belong to the tier of the module."""
    one: int | None = config.getoption("seed")
    asked = range(config.getoption("seeds")) if one is None else range(one, one + 1)
    if tier_of(Path(str(module.__file__))) == "quick":
        return range(asked.start, min(asked.stop, _QUICK.stop))
    return range(max(asked.start, _QUICK.stop), asked.stop)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per handful of seeds."""
    if "seeds" in metafunc.fixturenames:
        pieces = cut(_seeds_of(metafunc.module, metafunc.config))
        metafunc.parametrize("seeds", pieces, ids=[f"{piece[0]}-{piece[-1]}" for piece in pieces])


@pytest.fixture(scope="module")
def playing(request: pytest.FixtureRequest) -> Iterator[Callable[[range], Outcome]]:
    """Plays seeds: in other processes, or in this one if only one is asked for, so that a debugger can look."""
    if request.config.getoption("seed") is not None:
        yield play_seeds
        return
    with closing(Fleet(cut(_seeds_of(request.module, request.config)))) as fleet:
        yield fleet.outcome


@pytest.fixture(scope="module")
def reading(request: pytest.FixtureRequest) -> Iterator[Callable[[range], Outcome]]:
    """Like `playing`, for the sentences about seeds."""
    if request.config.getoption("seed") is not None:
        yield read_seeds
        return
    with closing(Fleet(cut(_seeds_of(request.module, request.config)), read_seeds)) as fleet:
        yield fleet.outcome


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Tally:
    made = request.config.stash[TALLY] = Tally(len(_seeds_of(request.module, request.config)))
    add_summary(request.config, made)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Prints every now and then how far a long run is."""
    done = yield
    found, reporter = item.config.stash.get(TALLY, None), item.config.pluginmanager.get_plugin("terminalreporter")
    if found is not None and reporter is not None and (news := found.news()) is not None:
        reporter.write_line(f"\n{news}")
    return done
