"""Methods of confluent-kafka's Consumer that ours does not change: they only have to wait for their turn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import confluent_kafka

from membership_client.consumer.arguments import as_place, as_places

if TYPE_CHECKING:
    from membership_client.consumer.consumer import Consumer


class WithLock:
    """A method of that name, called while no other thread is inside librdkafka. Takes partitions of either library."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, consumer: Consumer | None, owner: type) -> Callable[..., Any]:
        if consumer is None:
            return getattr(confluent_kafka.Consumer, self._name)  # type: ignore[no-any-return]
        return functools.partial(_call, consumer, getattr(consumer._raw, self._name))


def _call(consumer: Consumer, method: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    consumer._check_open()
    places = [as_places(as_place(one)) for one in arguments]
    return consumer._librdkafka.call(functools.partial(method, *places, **more))
