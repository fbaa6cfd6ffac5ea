"""The table of intended differences, and the machinery that compares."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import KafkaError, KafkaException

from membership_client import ConfigError, NotOwnedError
from membership_client.consumer.kafka_errors import as_kafka_exception, refusal
from tests.differential.canonical import agrees, raised
from tests.differential.compare import compare
from tests.differential.differences import DIFFERENCES, is_intended
from tests.differential.generate import program_of
from tests.differential.play import Outcome
from tests.differential.program import Step

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
STATE = raised(KafkaException(KafkaError(KafkaError._STATE)))


def test_the_documents_show_the_table() -> None:
    """Row by row, in the same order, and no other rows."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| |")]
    assert rows == [difference.row() for difference in DIFFERENCES]


def test_a_seed_makes_the_same_program_every_time() -> None:
    """And other seeds make others."""
    assert program_of(7) == program_of(7)
    assert len({program_of(seed).steps for seed in range(50)}) == 50


def test_an_exception_agrees_if_a_program_catches_it_in_the_same_way() -> None:
    """Ours may be more types than theirs; the code must be the same."""
    theirs = raised(KafkaException(KafkaError(KafkaError._INVALID_ARG)))
    assert agrees(raised(as_kafka_exception(ConfigError("no"))), theirs)
    assert agrees(raised(refusal("no", TypeError)), raised(TypeError("no")))
    assert not agrees(raised(refusal("no")), raised(TypeError("no")))
    assert not agrees(raised(as_kafka_exception(ConfigError("no"))), STATE)
    assert not agrees(None, STATE)


def test_a_difference_covers_its_own_calls_only() -> None:
    """An assign() that confluent-kafka refuses after a subscription is intended, a refused seek() is not."""
    assert is_intended(Step(0, "assign"), None, STATE)
    assert not is_intended(Step(0, "assign"), STATE, None)
    assert is_intended(Step(0, "commit"), raised(as_kafka_exception(NotOwnedError("no"))), None)
    assert not is_intended(Step(0, "seek"), None, STATE)


def test_the_first_mismatch_is_reported() -> None:
    """With the program, and the call marked; what is committed and delivered is compared, too."""
    program = program_of(1)
    calls: tuple[object, ...] = (None,) * len(program.steps)
    same = Outcome(calls, {}, {})
    assert compare(program, same, same) == []
    (mismatch,) = compare(program, Outcome((*calls[:2], 5, *calls[3:]), {}, {}), same)
    assert (mismatch.at, mismatch.ours, mismatch.theirs) == (2, 5, None)
    assert f">  {program.steps[2]}" in str(mismatch)
    assert compare(program, Outcome(calls, {(0, 0): (1, "")}, {}), same)[0].call == "committed in the end"
    assert compare(program, Outcome(calls, {}, {(0, 0): (1,)}), same)[0].call == "delivered"
