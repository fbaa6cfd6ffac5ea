"""Error codes by Kafka's names and numbers, as Kafka's own schemas have them."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from membership_client.core.error_codes import COORDINATOR_AWAY, Code, code_name

THEIRS: dict[int, str] = {int(code.value): code.name.upper() for code in ErrorCode}


@pytest.mark.parametrize("number", sorted(THEIRS))
def test_a_code_has_the_name_that_kafka_gives_to_its_number(number: int) -> None:
    """Operators search the brokers' logs for it; a number that the member does not know is shown as it is."""
    assert code_name(number) in {THEIRS[number], f"error code {number}"}


def test_every_code_of_ours_is_one_of_kafkas() -> None:
    """A wrong number would be an answer that no broker gives."""
    assert {code_name(code) for code in Code} <= set(THEIRS.values())
    assert all(THEIRS[code.value] == code.name for code in Code)


def test_a_broker_that_is_not_the_coordinator_says_it_in_one_of_three_ways() -> None:
    """It is none, there is none at the moment, or it is not ready yet."""
    names = {code_name(code) for code in COORDINATOR_AWAY}
    assert names == {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
