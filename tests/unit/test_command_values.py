"""Values on the command line, at the edge and just beyond."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from membership_client.arguments import LONGEST_WAIT_S
from membership_client.cli.values import seconds


@pytest.mark.parametrize("text", ["0", "0.5", str(LONGEST_WAIT_S)])
def test_a_number_of_seconds_is_one_that_waits_can_hold(text: str) -> None:
    """The longest one is that of all other arguments."""
    assert seconds(text) == float(text)


@pytest.mark.parametrize("text", ["-0.1", "1000000001", "inf", "nan", "", "x"])
def test_what_no_wait_can_hold_is_refused(text: str) -> None:
    """With what was given."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a number of seconds"):
        seconds(text)


class _WokenError(Exception):
    """Ends a wait that would go on."""


def _wake(*_: object) -> None:
    raise _WokenError


@pytest.mark.parametrize("wait", [time.sleep, threading.Event().wait])
def test_the_longest_wait_overflows_nowhere(wait: Callable[[float], object]) -> None:
    """With threading.TIMEOUT_MAX time.sleep() raises OSError, and `watch --every` slept so."""
    before = signal.signal(signal.SIGUSR1, _wake)
    waking = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    waking.start()
    try:
        with pytest.raises(_WokenError):
            wait(LONGEST_WAIT_S)
    finally:
        waking.join()
        signal.signal(signal.SIGUSR1, before)
