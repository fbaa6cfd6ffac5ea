"""Connects a `GroupMember` that a program makes, also of `membership_client.aio`, to the group of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

from membership_client import client
from membership_client.config import MemberConfig
from membership_client.consumer.consumer import Consumer
from membership_client.errors import ConfigError
from membership_client.runtime.member_setup import metrics_push_of as real_metrics_push_of
from membership_client.runtime.member_setup import new_member_id as real_new_member_id
from membership_client.runtime.member_setup import transport_of as real_transport_of
from membership_client.runtime.siblings import Siblings, siblings_of_process
from membership_client.runtime.topic_names import TopicNames
from membership_client.runtime.worker import Transport
from membership_client.security import Security
from membership_client.testing.kit.virtual_transport import VirtualTransport

if TYPE_CHECKING:
    from membership_client.core.member import Member
    from membership_client.telemetry.metrics_push import MetricsPush
    from membership_client.testing.kit.instance import Instance
    from membership_client.testing.kit.world import World


@contextlib.contextmanager
def members_of(world: World) -> Iterator[None]:
    """In its `with` block, members that tasks of the run make use its brokers. Members of other threads are not affected."""

    def transport_of(config: MemberConfig, security: Security) -> Transport:
        instance = _instance(world)
        if instance is None:
            return real_transport_of(config, security)
        _check(config, world.group_id)
        return instance.add_member(VirtualTransport(world, instance.label))

    def new_member_id() -> str:
        instance = _instance(world)
        return real_new_member_id() if instance is None else world.new_member_id(instance.label)

    def siblings() -> Siblings:
        instance = _instance(world)
        return siblings_of_process() if instance is None else instance.siblings

    def metrics_push_of(member: Member) -> MetricsPush | None:
        """None for members of a run, because its brokers have no receiver of metrics."""
        return real_metrics_push_of(member) if _instance(world) is None else None

    with (
        mock.patch.object(client, "transport_of", transport_of),
        mock.patch.object(client, "metrics_push_of", metrics_push_of),
        mock.patch.object(client, "siblings_of_process", siblings),
        mock.patch.object(client, "new_member_id", new_member_id),
        # Topics of another run may have the same ids.
        mock.patch.object(client, "_TOPIC_NAMES", TopicNames()),
    ):
        yield


@contextlib.contextmanager
def consumers_refused(world: World) -> Iterator[None]:
    """In its `with` block, a task of the run that makes a real consumer gets a ConfigError, because librdkafka is not virtual."""
    real_init = Consumer.__init__

    def init(consumer: Consumer, *given: Any, **named: Any) -> None:
        if _instance(world) is not None:
            raise ConfigError(
                "In explore() and play() a consumer is made by `instance.consumer()` or `instance.aio_consumer()`."
            )
        real_init(consumer, *given, **named)

    with mock.patch.object(Consumer, "__init__", init):
        yield


def _instance(world: World) -> Instance | None:
    task = world.scheduler.current()
    return None if task is None else world.instance_of(task.owner)


def _check(config: MemberConfig, group_id: str) -> None:
    if config.group_id != group_id or config.group_protocol == "classic":
        raise ConfigError(
            "In explore() and play() make a member with `instance.config`, with its group and the KIP-848 protocol."
        )
