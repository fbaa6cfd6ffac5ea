"""What a member is made of: configuration and security, member id, trace file, and checked observers and runner."""

from __future__ import annotations

import base64
import os
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from membership_client.arguments import checked_function, checked_instance, checked_mapping, optional, shown
from membership_client.config import MemberConfig, parse_bootstrap
from membership_client.core.assignors.registry import require_assignors
from membership_client.core.member import Member
from membership_client.errors import ConfigError
from membership_client.net import BrokerTransport
from membership_client.runtime.keeper_control import KeeperControl
from membership_client.runtime.listener import CallbackRunner
from membership_client.runtime.worker import Observer
from membership_client.security import PLAINTEXT, Security, split_security
from membership_client.trace.trace_file import TraceFile, trace_path

if TYPE_CHECKING:
    from membership_client.telemetry.metrics_push import MetricsPush


def checked_config(
    config: MemberConfig | Mapping[str, Any], security: Security | None
) -> tuple[MemberConfig, Security]:
    """The configuration and the security settings that the application gave. ConfigError if they cannot work."""
    found, security = _split(config, security)
    if found.group_protocol != "consumer":
        require_assignors(found.partition_assignment_strategy)
    return found, security


def _split(config: MemberConfig | Mapping[str, Any], security: Security | None) -> tuple[MemberConfig, Security]:
    optional(lambda name, value: checked_instance(name, value, Security), "security", security)
    if isinstance(config, MemberConfig):
        return config, security or PLAINTEXT
    found, rest = split_security(checked_mapping("The configuration", config))
    if security is not None and found is not PLAINTEXT:
        raise ConfigError("Give security in the configuration or beside it, not both.")
    return MemberConfig.from_dict(rest), security or found


def checked_observer(name: str, value: Observer) -> Observer:
    checked_function(name, value, of="a step")
    return value


def checked_runner(name: str, value: object) -> None:
    if isinstance(value, type) or not isinstance(value, CallbackRunner):
        raise ConfigError(f"{name} must have the methods of a CallbackRunner, not be {shown(value)}.")


def new_member_id() -> str:
    """A unique member id, the same for the life of the object, as KIP-1082 requires."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def transport_of(config: MemberConfig, security: Security) -> BrokerTransport:
    return BrokerTransport(
        parse_bootstrap(config.bootstrap_servers, security.protocol),
        client_id=config.client_id,
        connect_timeout_s=config.socket_connection_setup_timeout_ms / 1000,
        answer_timeout_s=config.request_timeout_ms / 1000,
        security=security,
    )


def keeper_of(config: MemberConfig, transport: BrokerTransport) -> KeeperControl | None:
    """The member's side of its keeper; None if none is configured."""
    if config.heartbeat_keeper == "off":
        return None
    from membership_client.runtime.keeper_link import KeeperLink  # noqa: PLC0415 - only members with a keeper need it

    timeout_s = config.socket_connection_setup_timeout_ms / 1000
    link = KeeperLink(config.client_id, timeout_s, lambda: transport.security, transport.wakeup)
    return KeeperControl(link, time.monotonic)


def trace_file_of(member: Member) -> TraceFile | None:
    """The file of the member's trace; None if the trace is kept in memory only."""
    config = member.config
    if config.trace_file is None:
        return None
    instance = config.group_instance_id or member.member_id
    names = {"group": config.group_id, "member": member.member_id, "instance": instance}
    path = trace_path(config.trace_file, pid=os.getpid(), **names)
    return TraceFile(path, max_bytes=config.trace_file_max_bytes, keep=config.trace_file_keep)


def metrics_push_of(member: Member) -> MetricsPush | None:
    """What pushes the member's metrics to the brokers; None if that is switched off."""
    if not member.config.enable_metrics_push:
        return None
    from membership_client.telemetry.metrics_push import MetricsPush  # noqa: PLC0415 - takes long: it loads opentelemetry

    return MetricsPush(member)
