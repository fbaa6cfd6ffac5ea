"""The application's functions that librdkafka reports to, none of which runs on the thread that closes librdkafka."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any

logger = logging.getLogger("membership_client")

_KEYS = ("error_cb", "stats_cb", "throttle_cb")


class Reports:
    """Calls a function where librdkafka calls it: inside poll(), consume() and other calls of the application.

    From `postpone` on, reports are kept for `make_postponed`. A function may need a lock that the thread in close() holds,
    so it must not run on the thread that closes librdkafka while close() waits for that.
    """

    def __init__(self) -> None:
        self._postponed: list[Callable[[], object]] | None = None

    def wrapped(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration with these functions in between. confluent-kafka refuses what is not callable."""
        found = {key: config[key] for key in _KEYS if callable(config.get(key))}
        return {**config, **{key: functools.partial(self._report, function) for key, function in found.items()}}

    def postpone(self) -> None:
        self._postponed = []

    def make_postponed(self) -> None:
        """On the thread that closes the consumer. An exception of a function is logged; reports that come later are dropped."""
        reports, self._postponed = self._postponed or [], []
        for report in reports:
            try:
                report()
            except Exception:
                logger.exception("A callback of librdkafka raised while the consumer was closed.")

    def _report(self, function: Callable[..., object], *told: object) -> object:
        if self._postponed is None:
            return function(*told)
        self._postponed.append(functools.partial(function, *told))
        return None
