"""The process that plans a query's batches: Spark starts it beside the driver's JVM, and often ends it without a call."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from membership_client import MembershipError

_LOOK_S = 1.0


def end_in_order() -> None:
    """From now on the process ends by SystemExit when it is told to end, or when Spark's JVM is gone.

    Spark calls `stop` only when its socket closes while it waits for the next call: a query that ends has its planner
    killed by SIGTERM. To be called on the main thread.
    """
    signal.signal(signal.SIGTERM, _exit)
    threading.Thread(target=_watch_parent, args=(os.getppid(),), name="watch-jvm", daemon=True).start()


def ending() -> None:
    """The process is ending: a second signal must not interrupt what it still has to do."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _exit(number: int, _: FrameType | None) -> NoReturn:
    ending()
    sys.exit(128 + number)


def _watch_parent(parent: int) -> None:
    """Ends the process when Spark's JVM is killed while the main thread is busy."""
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)


@contextlib.contextmanager
def without_traceback() -> Iterator[None]:
    """An error of ours says what is wrong; Spark would show it below a stack of its Python worker.

    The worker ends with the error, so nothing else of it loses its stack.
    """
    try:
        yield
    except MembershipError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise
