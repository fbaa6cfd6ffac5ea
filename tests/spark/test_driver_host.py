"""Where executors find the leases, whichever way the session was made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.connect.session import SparkSession

from membership_client_spark.spark_session import DriverHost, driver_host, host_in_settings, server_host


@pytest.fixture
def connected(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The session of a client, with the class of Spark Connect; it has no server, and the tests call nothing that needs one."""
    session = SparkSession.builder.remote(f"sc://{request.param}:15002").create()
    yield session
    session.client.close()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.driver.host": "10.0.0.7"}, DriverHost("10.0.0.7", "10.0.0.7")),
        ({"spark.driver.host": "svc", "spark.driver.bindAddress": "0.0.0.0"}, DriverHost("0.0.0.0", "svc")),
        ({"spark.driver.host": "[::1]"}, DriverHost("::1", "::1")),
        ({"spark.driver.host": "::1"}, DriverHost("::1", "::1")),
        ({"spark.driver.host": "[2001:db8::7]", "spark.driver.bindAddress": "[::]"}, DriverHost("::", "2001:db8::7")),
        ({}, DriverHost("127.0.0.1", "127.0.0.1")),
    ],
)
def test_a_driver_listens_where_spark_does_and_is_told_by_its_name(
    settings: dict[str, str], expected: DriverHost
) -> None:
    """Executors used to get the address on which the driver listens: with 0.0.0.0 each connected to itself. Brackets were kept."""
    assert host_in_settings(settings.get) == expected


@pytest.mark.parametrize(
    ("connected", "server"), [("spark.example", "spark.example"), ("[::1]", "::1")], indirect=["connected"]
)
def test_a_connect_client_knows_its_server(connected: Any, server: str) -> None:
    """It used to ask the server's settings, which do not tell, and took every server for one on its own machine."""
    assert server_host(connected) == server


@pytest.mark.parametrize("connected", ["127.0.0.1", "no-such-host.invalid"], indirect=True)
def test_a_connect_client_listens_on_its_side_of_the_way_to_the_server(connected: Any) -> None:
    """A server that cannot be found from here is no reason to fail: slots then work with fencing alone."""
    assert driver_host(connected) == DriverHost("127.0.0.1", "127.0.0.1")
