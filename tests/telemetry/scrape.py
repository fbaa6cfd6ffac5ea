"""A real endpoint for Prometheus, which is fetched and parsed."""

from __future__ import annotations

import urllib.request
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.parser import text_string_to_metric_families


class Prometheus:
    """The exporter's HTTP server, on a port of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._server, self._thread = start_http_server(0, "127.0.0.1", registry)

    def scrape(self) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
        """Samples by name and labels."""
        url = f"http://127.0.0.1:{self._server.server_port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        found: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
        for sample in (sample for family in families for sample in family.samples):
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
        return found

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of that name that have these labels."""
        samples = self.scrape().get(name, {})
        return sum(value for found, value in samples.items() if labels.items() <= found)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
