"""A broker with a receiver of client metrics (KIP-714): a plugin in Java, compiled here, that writes each push to a file."""

from __future__ import annotations

import contextlib
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from membership_client.testing import KafkaCluster, cached_kafka_jars
from tests.peers.jvm import PeerJvm

# Without lambdas, generics and the like: Janino, which Spark brings, compiles it, since a runtime of Java has no compiler.
_RECEIVER = """
import java.io.File;
import java.io.FileWriter;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;

public class FileReceiver implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    private File directory;
    private int received = 0;

    public void configure(Map configs) { directory = new File((String) configs.get("file.receiver.directory")); }
    public void init(List metrics) {}
    public void metricChange(KafkaMetric metric) {}
    public void metricRemoval(KafkaMetric metric) {}
    public void close() {}
    public ClientTelemetryReceiver clientReceiver() { return this; }

    public void exportMetrics(AuthorizableRequestContext context, ClientTelemetryPayload payload) {
        RequestContext client = (RequestContext) context;
        try {
            while (new File(directory, client.clientId() + ".hang").exists()) {
                new File(directory, client.clientId() + ".hangs").createNewFile();
                Thread.sleep(20);
            }
            write("{\\"client_id\\": \\"" + client.clientId()
                + "\\", \\"software\\": \\"" + client.clientInformation.softwareName()
                + "\\", \\"instance\\": \\"" + payload.clientInstanceId()
                + "\\", \\"terminating\\": " + payload.isTerminating() + "}\\n"
                + MetricsData.parseFrom(payload.data()));
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    private synchronized void write(String text) throws Exception {
        File begun = new File(directory, "begun");
        FileWriter writer = new FileWriter(begun);
        writer.write(text);
        writer.close();
        begun.renameTo(new File(directory, String.format("%06d.push", new Object[] {Integer.valueOf(++received)})));
    }
}
"""


@dataclass(frozen=True)
class Received:
    """One push, as the broker's own classes read it."""

    client_id: str
    software: str
    instance: str
    terminating: bool
    resource: dict[str, str]
    values: dict[str, float]
    """Of all metrics, by their names."""


class MetricsReceiver:
    """One broker that wants no metrics until `want` is called."""

    def __init__(self, cluster: KafkaCluster, directory: Path, java: Any) -> None:
        self.bootstrap_servers = cluster.bootstrap_servers
        self._directory = directory
        self._java = java

    def want(self, prefixes: str, *, interval_ms: int = 1000) -> None:
        """As `kafka-client-metrics.sh --alter` does it."""
        kafka = self._java.org.apache.kafka
        resource = kafka.common.config.ConfigResource(kafka.common.config.ConfigResource.Type.CLIENT_METRICS, "wanted")
        changes = self._java.java.util.ArrayList()
        for key, value in {"metrics": prefixes, "interval.ms": str(interval_ms)}.items():
            entry = kafka.clients.admin.ConfigEntry(key, value)
            changes.add(kafka.clients.admin.AlterConfigOp(entry, kafka.clients.admin.AlterConfigOp.OpType.SET))
        wanted = self._java.java.util.HashMap()
        wanted.put(resource, changes)
        settings = self._java.java.util.HashMap({"bootstrap.servers": self.bootstrap_servers})
        admin = kafka.clients.admin.KafkaAdminClient.create(settings)
        try:
            admin.incrementalAlterConfigs(wanted).all().get()
        finally:
            admin.close()

    @contextlib.contextmanager
    def hangs_for(self, client_id: str) -> Iterator[Path]:
        """Inside, a push of that client is not answered. The file that is given exists once one waits."""
        hang = self._directory / f"{client_id}.hang"
        hang.touch()
        try:
            yield self._directory / f"{client_id}.hangs"
        finally:
            hang.unlink()

    def received(self, client_id: str) -> list[Received]:
        """From clients of that id, in order."""
        pushes = (_read(path.read_text()) for path in sorted(self._directory.glob("*.push")))
        return [push for push in pushes if push.client_id == client_id]


def _read(text: str) -> Received:
    head, _, data = text.partition("\n")
    resource = dict(re.findall(r'attributes \{\s+key: "(\w+)"\s+value \{\s+string_value: "(.*)"', data))
    values = {name: float(value) for name, value in re.findall(r'name: "([\w.]+\.[\w.]+)"[^"]*?as_double: (\S+)', data)}
    return Received(**json.loads(head), resource=resource, values=values)


@contextlib.contextmanager
def metrics_receiver(jvm: PeerJvm, directory: Path) -> Iterator[MetricsReceiver]:
    """A broker of its own."""
    pushes = directory / "pushes"
    pushes.mkdir()
    settings = {"metric.reporters": "FileReceiver", "file.receiver.directory": str(pushes)}
    jars = [*(cached_kafka_jars() or ()), _compiled(jvm, directory)]
    with KafkaCluster(settings=settings, jars=jars) as cluster:
        yield MetricsReceiver(cluster, pushes, jvm.java)


def _compiled(jvm: PeerJvm, directory: Path) -> Path:
    """The plugin as a jar."""
    compiler = jvm.java.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_RECEIVER)
    jar = directory / "receiver.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name, octets in dict(compiler.getBytecodes()).items():
            archive.writestr(f"{name.replace('.', '/')}.class", octets)
    return jar
