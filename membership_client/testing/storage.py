"""Formats a broker's data directory, as `kafka-storage format` does."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from membership_client.testing.jvm import Jvm
    from membership_client.testing.settings import BrokerNode

CHECKPOINT = "bootstrap.checkpoint"


def format_storage(jvm: Jvm, node: BrokerNode, cluster_id: str) -> None:
    """Format `node.data` for a new broker, unless it is formatted already.

    The feature levels of a new cluster are in a file that depends only on Kafka's version. `scripts/test` puts a copy beside the
    jars, so that no JVM has to start for it, which saves a second per broker.
    """
    if (node.data / "meta.properties").exists():
        return
    checkpoint = jvm.jars[0].parent / CHECKPOINT
    if checkpoint.exists():
        _write_storage(node, cluster_id, checkpoint)
    else:
        _run_storage_tool(jvm, node, cluster_id)


def random_id() -> str:
    """A random id in Kafka's notation: URL-safe base64, 22 characters, never starting with a dash."""
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def _write_storage(node: BrokerNode, cluster_id: str, checkpoint: Path) -> None:
    node.data.mkdir(parents=True)
    shutil.copyfile(checkpoint, node.data / CHECKPOINT)
    identity = {"version": 1, "cluster.id": cluster_id, "node.id": node.node_id, "directory.id": random_id()}
    lines = "".join(f"{name}={value}\n" for name, value in identity.items())
    (node.data / "meta.properties").write_text(lines)


def _run_storage_tool(jvm: Jvm, node: BrokerNode, cluster_id: str) -> None:
    tool = jvm.command("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", node.properties)
    done = subprocess.run(tool, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Kafka's storage tool refused {node.properties}:{os.linesep}{done.stdout}")
