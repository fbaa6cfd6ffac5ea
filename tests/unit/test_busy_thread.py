"""Where a thread is, seen from another one."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from membership_client.runtime.busy_thread import frame_of


@pytest.fixture
def collecting_functions() -> Iterator[list[str]]:
    """The functions in which a garbage collection began. One begins at almost every allocation."""
    found: list[str] = []
    me, before = threading.get_ident(), gc.get_threshold()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and threading.get_ident() == me:
            found.append(sys._getframe(1).f_code.co_name)

    gc.callbacks.append(note)
    gc.set_threshold(1, 1, 1)
    yield found
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


def test_no_garbage_is_collected_while_frames_are_looked_at(collecting_functions: list[str]) -> None:
    """A collection inside sys._current_frames() stopped the whole process, when another thread began or ended meanwhile."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in range(20)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert frame_of(threads[0].ident) is not None
    done.set()
    assert collecting_functions
    assert "frame_of" not in collecting_functions


def test_the_garbage_collector_stays_as_it_was() -> None:
    """An application that has switched it off does not find it on."""
    assert frame_of(threading.get_ident()) is not None
    assert gc.isenabled()
    gc.disable()
    try:
        frame_of(threading.get_ident())
        assert not gc.isenabled()
    finally:
        gc.enable()
