"""Queries of the audit have no name that the trace format lacks."""

from __future__ import annotations

import pytest

from membership_client_spark.audit.trace_schema import struct, with_trace_names


def test_names_and_defaults_come_from_the_format() -> None:
    """Tags and words become texts, fields their defaults; parameters of Spark's stay."""
    query = with_trace_names("a = :Heartbeat OR b IN (:STABLE, :skew) OR c = :Member.state OR d = :Member.interval_s")
    assert query == "a = 'Heartbeat' OR b IN ('STABLE', :skew) OR c = 'UNSUBSCRIBED' OR d = 5.0D"


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("Heartbeet", "Heartbeet"),
        ("STABEL", "STABEL"),
        ("Membre.state", "Membre"),
        ("Member.stat", "stat"),
    ],
)
def test_a_name_that_the_format_lacks_is_refused(name: str, lacks: str) -> None:
    """When the module with the query is imported, and not as an audit that finds nothing."""
    with pytest.raises(KeyError, match=f"'{lacks}'"):
        with_trace_names(f"a = :{name}")


def test_a_column_that_the_format_lacks_is_refused() -> None:
    """It would be null in every line."""
    assert struct("Pace", failures="INT") == "STRUCT<failures: INT>"
    assert struct("Send Stop", request_id="INT") == "STRUCT<`is`: STRING, request_id: INT>"
    with pytest.raises(KeyError, match="failure"):
        struct("Pace", failure="INT")
