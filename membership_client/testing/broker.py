"""One broker process: start it, see whether it serves, and stop, kill or pause it."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from kio.schema.metadata.v9 import MetadataRequest, MetadataResponse

from membership_client.testing import guard
from membership_client.testing.wire import Address, ask

if TYPE_CHECKING:
    from membership_client.testing.jvm import Jvm
    from membership_client.testing.settings import BrokerNode

_TERMINATE_TIMEOUT_S = 60

# At INFO the group coordinator logs which members left, and why. Dumps of the configuration are left out.
LOG4J = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.config.name = org.apache.kafka.common.config.AbstractConfig
logger.config.level = warn
"""


class Broker:
    """A broker of a test cluster. Its process never outlives ours."""

    def __init__(self, jvm: Jvm, node: BrokerNode) -> None:
        self._jvm = jvm
        self._log_file = node.directory / "broker.log"
        self._log4j_file = node.directory / "log4j2.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self._paused = False
        self.node = node

    @property
    def address(self) -> Address:
        """The address for clients: host:port."""
        return "127.0.0.1", self.node.port

    @property
    def log(self) -> str:
        """The broker's log, of all its starts."""
        return self._log_file.read_text(errors="replace") if self._log_file.exists() else ""

    @property
    def has_died(self) -> bool:
        """Whether the broker has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    @property
    def is_running(self) -> bool:
        """Whether the broker was started, has not ended and is not paused."""
        return self._process is not None and not self.has_died and not self._paused

    def start(self) -> None:
        """Starts the process and returns at once."""
        self._log4j_file.write_text(LOG4J)
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._jvm.command("kafka.Kafka", self.node.properties),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.node.directory,
                env=os.environ | {"LOG4J_CONFIGURATION_FILE": str(self._log4j_file)},
                # Ctrl-C must end only the tests. The object that started the brokers, or the guard, ends them.
                start_new_session=True,
            )
        guard.watch_process(self._process.pid)

    def sees(self) -> set[int]:
        """The numbers of the brokers in its metadata: registered and not fenced. Empty while it does not answer."""
        request = MetadataRequest(
            topics=(), include_cluster_authorized_operations=False, include_topic_authorized_operations=False
        )
        try:
            answer = ask(self.address, request, MetadataResponse, timeout_s=2)
        except OSError:
            return set()
        return {broker.node_id for broker in answer.brokers}

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, and no client is told."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def terminate(self) -> None:
        """SIGTERM, and waits: leadership is handed over, logs are flushed."""
        if self._process is None:
            return
        self._process.terminate()
        self.resume()
        try:
            self._process.wait(_TERMINATE_TIMEOUT_S)
        finally:
            self.kill()

    def pause(self) -> None:
        """SIGSTOP: connections stay open, nothing answers, as in a long garbage collection."""
        if self._paused:
            return
        process = self._signal(signal.SIGSTOP)
        # Until all threads of the broker have stopped, one of them may still answer.
        os.waitpid(process.pid, os.WUNTRACED)
        self._paused = True

    def resume(self) -> None:
        """SIGCONT: the broker goes on where it was."""
        self._signal(signal.SIGCONT)
        self._paused = False

    def _signal(self, number: signal.Signals) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"broker {self.node.node_id} does not run"
        self._process.send_signal(number)
        return self._process

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait()
        guard.forget_process(self._process.pid)
        self._process = None
        self._paused = False
