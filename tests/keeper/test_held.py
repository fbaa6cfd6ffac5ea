"""Members of a process whose interpreter is held for longer than their session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from membership_client.testing import EmbeddedKafka
from tests.keeper.holding import Holder, holding

SESSION_S = 4
SETTINGS = {
    "group.consumer.heartbeat.interval.ms": 1000,
    "group.consumer.session.timeout.ms": SESSION_S * 1000,
    "group.consumer.assignment.interval.ms": 0,
}


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 2}, settings=SETTINGS) as cluster:
        yield cluster


def config(embedded: EmbeddedKafka, protocol: str, keeper: str) -> dict[str, object]:
    classic = {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 1000} if protocol == "classic" else {}
    return {
        "bootstrap.servers": embedded.bootstrap_servers,
        "group.id": f"{protocol}-{keeper}",
        "group.protocol": protocol,
        "heartbeat.keeper": keeper,
        **classic,
    }


def test_a_keeper_keeps_partitions_while_the_interpreter_is_held(embedded: EmbeddedKafka) -> None:
    """This holds in both protocols, and right after the assignment. Without a keeper the partitions are lost."""
    with ExitStack() as stack:
        holders: dict[tuple[str, str], Holder] = {
            (protocol, keeper): stack.enter_context(
                holding(config(embedded, protocol, keeper), "orders", 2 * SESSION_S)
            )
            for protocol in ("consumer", "classic")
            for keeper in ("process", "off")
        }
        for (_, keeper), holder in holders.items():
            holder.wait_for("holds")
            holder.wait_for("free")
            changes = [kind for kind, _ in holder.wait_for("polled")]
            assert changes == ([] if keeper == "process" else ["lost", "assigned"])


def test_no_secret_of_the_program_is_in_the_keepers_environment(
    embedded: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many programs have passwords in variables. The keeper once inherited all variables, later those with such names."""
    for name in ("SHOP_PASSWORD", "SSL_KEY_PASSWORD", "LD_SDK_KEY"):
        monkeypatch.setenv(name, "of-the-shop")
    monkeypatch.setenv("SSL_CERT_DIR", "/of/the/host")
    with holding(config(embedded, "consumer", "process"), "orders", 0) as holder:
        holder.wait_for("holds")
        kept = Path(f"/proc/{holder.keeper()}/environ").read_text()
        holder.wait_for("polled")
    assert "of-the-shop" not in kept
    assert "SSL_CERT_DIR=/of/the/host" in kept
