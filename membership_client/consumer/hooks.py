"""The application's rebalance callbacks, in confluent-kafka's style or kafka-python's, checked when they are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from confluent_kafka import TopicPartition as TheirTopicPartition

from membership_client.consumer.translate import theirs
from membership_client.core.events import CallbackKind
from membership_client.errors import ConfigError, ListenerError
from membership_client.runtime.listener import Callback, CallbackContext, accepts, callbacks_of
from membership_client.types import TopicPartition

Hook = (
    Callable[[Any, list[TheirTopicPartition]], object]
    | Callable[[Any, list[TheirTopicPartition], CallbackContext], object]
)
"""`f(consumer, partitions)`, or `f(consumer, partitions, context)`."""


def hooks_of(
    consumer: object,
    on_assign: Hook | None,
    on_revoke: Hook | None,
    on_lost: Hook | None,
    listener: object | None,
    *,
    coroutines: bool = False,
) -> dict[CallbackKind, Callback]:
    """The callbacks by their kind. Without on_lost, on_revoke is called for lost partitions, as in confluent-kafka.

    `coroutines` says that the caller awaits what they return.
    """
    given = {
        CallbackKind.ASSIGNED: ("on_assign", on_assign),
        CallbackKind.REVOKED: ("on_revoke", on_revoke),
        CallbackKind.LOST: ("on_lost", on_revoke if on_lost is None else on_lost),
    }
    found = {
        kind: _adapted(consumer, name, hook, coroutines) for kind, (name, hook) in given.items() if hook is not None
    }
    if listener is None:
        return found
    if found:
        raise ConfigError("Give a listener, or on_assign, on_revoke and on_lost, not both.")
    return callbacks_of(listener, coroutines=coroutines)


def _adapted(consumer: object, name: str, hook: Callable[..., Any], coroutines: bool) -> Callback:
    if not callable(hook):
        raise ListenerError(f"{name} is not callable. {_signature(name)}")
    if inspect.iscoroutinefunction(hook) and not coroutines:
        raise ListenerError(f"{name} is an async function: use membership_client.aio.Consumer.")
    if accepts(hook, 2):  # First, because a third argument with a default is the application's own.
        return lambda partitions, _: hook(consumer, theirs(partitions))
    if accepts(hook, 3):
        return lambda partitions, context: hook(consumer, theirs(partitions), context)
    given = f"{name}{inspect.signature(hook)}"
    raise ListenerError(f"{given} cannot be called with the consumer and the partitions. {_signature(name)}")


def _signature(name: str) -> str:
    return f"Write {name}(consumer, partitions), or {name}(consumer, partitions, context) for a CallbackContext."


def no_hook(partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
    """Stands for a callback that was not given."""
