"""librdkafka's mock cluster: a broker with other ways than Kafka's, for tests of what clients meet besides Kafka."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self


class MockCluster:
    """`brokers` mock brokers on 127.0.0.1, in a process of their own that never outlives ours.

    A topic appears when a client first asks for it by name, always with 4 partitions. What it does not do:

    - It aborts, with its whole process, on a consumer heartbeat that names topics but has a null regex: send "".
    - It speaks no ConsumerGroupDescribe, no topic administration and no group configuration.
    - It fetches committed offsets in versions that do not wait for transactions, so `Consumer` cannot start its partitions
      there: poll() raises OffsetError. `GroupMember` can use it.
    - Its heartbeat interval is 3 s.
    - A member that has to wait for others gets epoch 0 and no assignment, and must repeat its full join.
    - A static member's successor is unknown to it unless the predecessor left with epoch -2.

    The truth about groups is in `KafkaCluster`; `EmbeddedKafka` is as quick as this, and has all of it.
    """

    def __init__(self, brokers: int = 1) -> None:
        self._size = brokers
        self._process: subprocess.Popen[str] | None = None
        self._bootstrap_servers = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """Every mock broker's address, as clients want it."""
        return self._bootstrap_servers

    def start(self) -> None:
        """Starts the process and returns when its brokers answer."""
        self._process = subprocess.Popen(
            # -P keeps this directory, whose file names are ours to choose, off the new process's import path.
            [sys.executable, "-P", Path(__file__).with_name("mock_process.py"), str(self._size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            self._bootstrap_servers = self._process.stdout.readline().strip()
        except BaseException:
            # Interrupted: nobody would stop the process before we end.
            self.stop()
            raise
        if not self._bootstrap_servers:
            self.stop()
            raise RuntimeError("librdkafka's mock cluster did not start; its process says why on standard error")

    def stop(self) -> None:
        """Ends the process; does nothing if it has ended."""
        if self._process is not None:
            self._process.kill()
            # Closes the pipes as well.
            self._process.communicate()
            self._process = None
