"""Has scripts/provide.py make ready what the chosen tests need, before the first of them runs, or is imported."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parent.parent / "scripts" / "provide.py"

_plugin_managers: list[pytest.PytestPluginManager] = []


def show_progress_of(manager: pytest.PytestPluginManager) -> None:
    """From now on progress is shown to the person at the terminal, and not captured with the output of a test."""
    _plugin_managers.append(manager)


def need(thing: str) -> None:
    """Returns when `thing`, a name that scripts/provide.py knows, is there; at once the second time.

    Ends the run with the reason if it cannot be had: every other test that needs it would say the same.
    """
    with _uncaptured():
        failure = _provide(thing)
    if failure is not None:
        pytest.exit(failure, returncode=1)


@functools.cache
def _provide(thing: str) -> str | None:
    """Asks once per process. Returns the reason why it cannot be had, or None."""
    run = subprocess.run([sys.executable, _SCRIPT, thing], stderr=subprocess.PIPE, text=True, check=False)
    # Without this, packages that were installed after the start of this process are not found.
    importlib.invalidate_caches()
    return run.stderr.strip() if run.returncode else None


def _uncaptured() -> AbstractContextManager[None]:
    for manager in _plugin_managers:
        if (capture := manager.get_plugin("capturemanager")) is not None:
            disabled: AbstractContextManager[None] = capture.global_and_fixture_disabled()
            return disabled
    return nullcontext()
