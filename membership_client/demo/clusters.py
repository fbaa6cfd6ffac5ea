"""The cluster of a demonstration: an embedded broker, real Kafka, or the user's own."""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from membership_client import MemberConfig
from membership_client.demo.events import ReasonsLogged
from membership_client.demo.kit import GroupSeen
from membership_client.testing import ClusterAdmin, EmbeddedKafka, KafkaCluster
from membership_client.testing.jars import KAFKA_VERSION

Say = Callable[[str], None]
"""Takes the sentences that a cluster says while it starts."""

BrokerKind = Literal["embedded", "kafka"]

_PARTITIONS = 6
"""Two members can share this number evenly, and so can three."""
_HEARTBEAT_MS = 1000
_CONTACT_TIMEOUT_S = 5
_DELETE_TIMEOUT_S = 10


class DemoError(RuntimeError):
    """The demonstration cannot run; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCluster:
    """A broker with a topic that no other program uses, and the name of a group that does not exist yet."""

    title: str
    bootstrap_servers: str
    topic: str
    group: str
    partitions: int
    patience_s: float
    """How long the group may take to settle."""
    admin: ClusterAdmin
    """Asks the coordinator for the group's description."""
    reasons: Callable[[], tuple[str, ...]] | None = None
    """Reads the reasons of leaves in the broker's log; None if the log cannot be read."""

    def look(self) -> GroupSeen | None:
        """The coordinator's view of the group; None if it knows no such group yet."""
        try:
            described = self.admin.describe(self.group)
        except LookupError:
            return None
        except (OSError, RuntimeError) as error:
            raise DemoError(f"The coordinator does not describe the group: {error}.") from error
        return GroupSeen(at=time.monotonic(), epoch=described.epoch, members=len(described.members))

    def reasons_logged(self) -> ReasonsLogged | None:
        """The reasons of leaves that the broker has logged; None if its log cannot be read."""
        return None if self.reasons is None else ReasonsLogged(at=time.monotonic(), reasons=self.reasons())


_INTERVAL = f"the group's heartbeat interval is {_HEARTBEAT_MS / 1000:g} s (Kafka's default: 5 s), to keep this lively"


@contextlib.contextmanager
def embedded_cluster(say: Say) -> Iterator[DemoCluster]:
    """An embedded broker in this process, which is stopped when the context ends."""
    say("starting an embedded broker in this process; --broker kafka starts a real one")
    settings = {"group.consumer.heartbeat.interval.ms": _HEARTBEAT_MS}
    with EmbeddedKafka(topics={"orders": _PARTITIONS}, settings=settings) as kafka:
        say(_INTERVAL)
        yield DemoCluster(
            title="EmbeddedKafka, which behaves as Kafka 4.3 does",
            bootstrap_servers=kafka.bootstrap_servers,
            topic="orders",
            group="orders-app",
            partitions=_PARTITIONS,
            patience_s=30,
            admin=ClusterAdmin(kafka.bootstrap_servers),
            reasons=lambda: tuple(re.findall(r"left; client reason: (.*)", "\n".join(kafka.log()))),
        )


@contextlib.contextmanager
def kafka_cluster(say: Say) -> Iterator[DemoCluster]:
    """One real Kafka broker, which is stopped when the context ends."""
    say(f"starting real Kafka {KAFKA_VERSION} on this machine, which takes a few seconds")
    with KafkaCluster() as kafka:
        admin = ClusterAdmin(kafka.bootstrap_servers)
        admin.create_topic("orders", _PARTITIONS)
        admin.set_group_config("orders-app", consumer_heartbeat_interval_ms=_HEARTBEAT_MS)
        say(_INTERVAL)
        yield DemoCluster(
            title=f"real Kafka {KAFKA_VERSION}",
            bootstrap_servers=kafka.bootstrap_servers,
            topic="orders",
            group="orders-app",
            partitions=_PARTITIONS,
            patience_s=30,
            admin=admin,
            reasons=lambda: tuple(re.findall(r"\[GroupId orders-app\].*client reason: (.*?) \(org", kafka.log())),
        )


@contextlib.contextmanager
def user_cluster(bootstrap_servers: str, say: Say) -> Iterator[DemoCluster]:
    """The user's cluster. The topic and group that are created there have unique names, and are deleted when the context ends."""
    name = f"membership-client-demo-{uuid.uuid4().hex[:12]}"
    # Raises ConfigError for an address that no member could use.
    MemberConfig(bootstrap_servers=bootstrap_servers, group_id=name)
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    _check_contact(client, bootstrap_servers)
    say(f"creating topic {name} with {_PARTITIONS} partitions on {bootstrap_servers}; the group has the same name")
    try:
        yield DemoCluster(
            title=f"your cluster, {bootstrap_servers}",
            bootstrap_servers=bootstrap_servers,
            topic=name,
            group=name,
            partitions=_PARTITIONS,
            patience_s=40,
            admin=_create_topic(bootstrap_servers, name),
        )
    finally:
        _delete("topic", name, client.delete_topics([name]), say)
        _delete("group", name, client.delete_consumer_groups([name]), say)


def _check_contact(client: AdminClient, bootstrap_servers: str) -> None:
    try:
        client.list_topics(timeout=_CONTACT_TIMEOUT_S)
    except KafkaException as error:
        reason = error.args[0].str()
        raise DemoError(f"No broker answers at {bootstrap_servers} ({reason}). Is the address right?") from error


def _create_topic(bootstrap_servers: str, name: str) -> ClusterAdmin:
    admin = ClusterAdmin(bootstrap_servers)
    try:
        # -1: as many replicas as the cluster gives by default.
        admin.create_topic(name, _PARTITIONS, replication=-1)
    except KafkaException as error:
        raise DemoError(f"Topic {name} could not be created: {error.args[0].str()}.") from error
    except (OSError, RuntimeError) as error:
        raise DemoError(f"Topic {name} is not ready: {error}.") from error
    return admin


def _delete(kind: str, name: str, futures: Mapping[str, Future[None]], say: Say) -> None:
    """Say whether the deletion succeeded. It raises nothing, so that the next deletion is tried, too."""
    try:
        futures[name].result(_DELETE_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        why = error.args[0].str() if isinstance(error, KafkaException) else "no answer"
        say(f"{kind} {name} is not deleted: {why}")
    else:
        say(f"{kind} {name} is deleted")
