"""Ctrl-C while a story is played, in a process of its own, because it would end the tests' own run."""

from __future__ import annotations

import subprocess
import sys

PATIENCE_S = 170.0
INTERRUPTED = """
import os, signal, threading
from membership_client.testing import explore

def interrupted_at(count, busy):
    seen = []

    def program(instance):
        with instance.consumer({"enable.auto.commit": False}) as consumer:
            consumer.subscribe(["orders"])
            for message in consumer:
                seen.append(message)
                if len(seen) == count:
                    os.kill(os.getpid(), signal.SIGINT)
                    for _ in range(busy):
                        pass
                instance.processed(message)
                consumer.commit(message, asynchronous=False)

    return program

# Where the tests run in the background, a shell has had them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
for busy in (0, 100_000):
    for count in range(1, 16):
        try:
            explore(interrupted_at(count, busy), seeds=5)
        except KeyboardInterrupt:
            print("interrupted")
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join(60)
print(threading.active_count(), explore(interrupted_at(-1, 0), seeds=2).runs)
"""


def test_ctrl_c_ends_a_story_and_its_threads() -> None:
    """This holds in any thread of the story: Ctrl-C was sometimes a RuntimeError about a lock, and threads stayed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stdout.splitlines() == [*["interrupted"] * 30, "1 2"], done.stderr
    assert done.stderr == ""
