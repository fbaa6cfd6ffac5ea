"""A fork while the first connection loads Kafka's message formats."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import importlib.abc, os, sys, threading
from membership_client.net.transport import BrokerTransport
from membership_client.core.events import FindCoordinator, Send
from membership_client.types import Node

class Slow(importlib.abc.MetaPathFinder):
    def __init__(self):
        self.began, self.may_end = threading.Event(), threading.Event()
    def find_spec(self, name, path, target=None):
        if name == "membership_client.net.codec":
            self.began.set()
            self.may_end.wait(60)

slow = Slow()
sys.meta_path.insert(0, slow)
transport = BrokerTransport([Node("127.0.0.1", 1)], client_id="c", connect_timeout_s=5)
transport.send(Send(1, None, FindCoordinator(group_id="g")))
assert slow.began.wait(60)
threading.Timer(0.2, slow.may_end.set).start()
child = os.fork()
if child == 0:
    loaded = threading.Event()
    def load():
        from membership_client.net.codec import encode
        loaded.set()
    threading.Thread(target=load, daemon=True).start()
    os._exit(not loaded.wait(20))
print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_can_load_what_the_parent_was_loading() -> None:
    """The fork waits until it is loaded: a child has none of its parent's other threads, and would wait for one for ever."""
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout == "child ended with 0\n", run.stderr
