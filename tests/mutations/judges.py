"""The tests that judge mutants: collected by pytest, and seeds of the simulation. Which lines each of them runs."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hypothesis
import pytest

_IMPORTED_BEFORE = ("-W", "ignore::pytest.PytestAssertRewriteWarning")

MOST_CALLS = 50
"""So many calls of one function by one test are watched: watching makes a test slow, and later calls run few other lines."""

Judge = Callable[[], bool]
Lines = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Means:
    """What mutants are judged with. No mutant is given more than `budget_s` of computing, by the fastest tests.

    A test that takes `patience_s` and ten times what it took before is ended, and its mutant counts as timed out.
    """

    tests: tuple[str, ...]
    seeds: int
    budget_s: float
    patience_s: float


@dataclass(frozen=True, slots=True)
class Record:
    """A test: whether it passed, what it takes, and its lines in the files to judge. Watching it takes several times as much."""

    name: str
    passed: bool
    cpu_s: float
    took_s: float
    lines: Lines


class Judges:
    """A pytest plugin that has the tests collected and then gives them to `use`, instead of running them all."""

    def __init__(self, means: Means, use: Callable[[dict[str, Judge]], object]) -> None:
        self._means = means
        self._use = use
        self._failed = False

    def collect(self, paths: Sequence[str] = ()) -> None:
        """Calls `use` with what was collected, of all tests or of some files, unless that fails."""
        hypothesis.settings.register_profile(
            "mutants", derandomize=True, database=None, phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate]
        )
        hypothesis.settings.load_profile("mutants")
        options = ("-q", "-s", "--tier=quick", "-m", "not kafka", "-p", "no:cacheprovider", *_IMPORTED_BEFORE)
        pytest.main([*options, *(paths or self._means.tests)], plugins=[self])

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            tests: dict[str, Judge] = {item.nodeid: partial(self._passes, item) for item in session.items}
            self._use(tests | {f"seed {seed}": partial(_is_safe, seed) for seed in range(self._means.seeds)})
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
        """Takes note of a failure, and spares the time that its report would take."""
        if call.excinfo is None or call.excinfo.errisinstance(pytest.skip.Exception):
            return None
        self._failed = True
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", "", "call")

    def _passes(self, item: pytest.Item) -> bool:
        self._failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self._failed


def _is_safe(seed: int) -> bool:
    from tests.simulation.generate import script_of
    from tests.simulation.play import FailedRunError, play

    try:
        play(script_of(seed))
    except FailedRunError:
        return False
    return True


def watched(name: str, judge: Judge, files: Iterable[Path]) -> Record:
    """Runs it once."""
    lines: set[tuple[str, int]] = set()
    began, cpu = time.monotonic(), time.process_time()
    with _lines_into(lines, {str(file.resolve()): str(file) for file in files}):
        passed = judge()
    return Record(name, passed, time.process_time() - cpu, time.monotonic() - began, frozenset(lines))


@contextmanager
def _lines_into(lines: set[tuple[str, int]], files: dict[str, str]) -> Any:
    calls = Counter[CodeType]()

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code.co_filename not in files or calls[code] == MOST_CALLS:
            return None
        calls[code] += 1
        return line

    def line(frame: FrameType, event: str, argument: object) -> Any:
        lines.add((files[frame.f_code.co_filename], frame.f_lineno))
        return line

    threading.settrace(enter)
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)
