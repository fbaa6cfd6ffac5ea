"""Says at the end of a run how much was simulated."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.simulation.tally import TALLY, Tally


@pytest.fixture
def tally(pytestconfig: pytest.Config) -> Iterator[Tally]:
    """Counts seeds; the time is the processor's, so that a busy machine does not look like a slow simulation."""
    found = pytestconfig.stash.setdefault(TALLY, Tally())
    began_at = time.process_time()
    yield found
    found.seconds += time.process_time() - began_at


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(TALLY, Tally())
    if found.seeds:
        rate = found.seeds / max(found.seconds, 0.001)
        terminalreporter.write_line(f"simulated {found.seeds} seeds in {found.seconds:.1f} s, {rate:.1f} per second")
