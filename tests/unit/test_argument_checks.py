"""Each check of an argument by its values: what it lets through, at the edge and just beyond, and what it says."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from membership_client.arguments import (
    LONGEST_WAIT_S,
    MOST_INT32,
    MOST_INT64,
    checked_choice,
    checked_flag,
    checked_function,
    checked_instance,
    checked_items,
    checked_mapping,
    checked_offsets,
    checked_partition,
    checked_partitions,
    checked_path,
    checked_seconds,
    checked_text,
    checked_timeout_s,
    checked_topic,
    checked_whole,
    is_text,
    is_whole,
    optional,
    reason_text,
    shown,
    with_dots,
)
from membership_client.errors import ConfigError
from membership_client.types import Offset, TopicPartition

NAN = math.nan
LONE_SURROGATE = "\ud800"
LONGEST = 32_767
FIRST = TopicPartition("orders", 0)


class Silent:
    """As an application might have it."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


Case = tuple[Callable[[Any], Any], Any, Any]

PASSES: list[Case] = [
    (lambda v: checked_text("k", v), "x", "x"),
    (lambda v: checked_text("k", v), " x ", " x "),
    (lambda v: checked_text("k", v), "x" * LONGEST, "x" * LONGEST),
    (lambda v: checked_topic("k", v), "a.B_9-", "a.B_9-"),
    (lambda v: checked_topic("k", v), "...", "..."),
    (lambda v: checked_topic("k", v), "x" * 249, "x" * 249),
    (lambda v: checked_path("k", v), "a/b", Path("a/b")),
    (lambda v: checked_path("k", v), Path("a/b"), Path("a/b")),
    (lambda v: checked_choice("k", v, ("a", "b")), "b", "b"),
    (lambda v: checked_whole("k", v), 0, 0),
    (lambda v: checked_whole("k", v), MOST_INT64, MOST_INT64),
    (lambda v: checked_whole("k", v, least=3, most=4), 3, 3),
    (lambda v: checked_whole("k", v, least=3, most=4), 4, 4),
    (lambda v: checked_seconds("k", v), 0, 0.0),
    (lambda v: checked_seconds("k", v), 1.5, 1.5),
    (lambda v: checked_seconds("k", v), 1e30, LONGEST_WAIT_S),
    (checked_timeout_s, 2, 2.0),
    (checked_timeout_s, -1.5, 0.0),
    (checked_timeout_s, math.inf, LONGEST_WAIT_S),
    (lambda v: checked_flag("k", v), False, False),
    (lambda v: checked_instance("k", v, str), "x", "x"),
    (lambda v: checked_function("k", v, "nothing"), len, None),
    (lambda v: optional(checked_text, "k", v), None, None),
    (lambda v: optional(checked_text, "k", v), "x", "x"),
    (lambda v: checked_mapping("k", v), {"a": 1}, {"a": 1}),
    (lambda v: checked_items("k", v, checked_text), ["a", "b"], ("a", "b")),
    (lambda v: checked_items("k", v, checked_text), iter("ab"), ("a", "b")),
    (lambda v: checked_items("k", v, checked_text), (), ()),
    (checked_partition, FIRST, FIRST),
    (checked_partition, ("orders", MOST_INT32), TopicPartition("orders", MOST_INT32)),
    (lambda v: checked_partitions("k", v), [("orders", 0)], (FIRST,)),
    (checked_offsets, {("orders", 0): 7}, {FIRST: Offset(7)}),
    (checked_offsets, {FIRST: Offset(MOST_INT64, MOST_INT32, "é")}, {FIRST: Offset(MOST_INT64, MOST_INT32, "é")}),
    (checked_offsets, {}, {}),
    (lambda v: with_dots(v, {"a.b"}), {"a_b": 1, "c_d": 2}, {"a.b": 1, "c_d": 2}),
    (reason_text, None, None),
    (reason_text, "bye", "bye"),
    (reason_text, ValueError("no disk"), "no disk"),
    (reason_text, LONE_SURROGATE, "\\ud800"),
    (reason_text, "x" * (LONGEST + 5), "x" * LONGEST),
    (reason_text, "é" * LONGEST, "é" * (LONGEST // 2)),
    (reason_text, Silent(), "a value of type Silent"),
    (shown, 7, "7"),
    (shown, "x" * 198, repr("x" * 198)),
    (shown, "x" * 199, repr("x" * 199)[:200] + "..."),
    (shown, 10**5000, "a value of type int"),
    (shown, Silent(), "a value of type Silent"),
    (is_text, 7, False),
    (is_whole, 7, True),
    (is_whole, True, False),
    (is_whole, 7.0, False),
]

NO_TEXTS = ["", "  ", "a\0b", LONE_SURROGATE, "x" * (LONGEST + 1), "é" * (LONGEST // 2 + 1), b"x", None, 7, True]

REFUSED: list[tuple[Callable[[Any], Any], list[Any], str]] = [
    (lambda v: checked_text("k", v), NO_TEXTS, "k must be a non-empty string, not "),
    (lambda v: checked_topic("k", v), NO_TEXTS, "k must be a non-empty string, not "),
    (lambda v: checked_topic("k", v), [".", "..", "a b", "ä", "x" * 250, "a*"], "is not the name of a topic"),
    (lambda v: checked_path("k", v), ["", "a\0", LONE_SURROGATE, None, 7, b"x"], "k must be a path, not "),
    (lambda v: checked_choice("k", v, ("a", "b")), ["c", "", None, ["a"], 1], "k must be one of a, b, not "),
    (lambda v: checked_whole("k", v), [-1, MOST_INT64 + 1, True, 1.0, "1", None], f"from 0 to {MOST_INT64}, not "),
    (lambda v: checked_whole("k", v, least=3, most=4), [2, 5], "from 3 to 4, not "),
    (lambda v: checked_seconds("k", v), [-0.1, -1, math.inf, NAN, True, "1", None], "k must be a number of seconds"),
    (checked_timeout_s, [NAN, True, "1", None], "timeout_s is a number of seconds, not "),
    (lambda v: checked_flag("k", v), [0, 1, None, "yes"], "k must be True or False, not "),
    (lambda v: checked_instance("k", v, str), [7, None], "k must be a str, not "),
    (lambda v: checked_function("k", v, "a member"), [7, None, "f"], "k must be a function of a member, not "),
    (lambda v: optional(checked_text, "k", v), ["", 7], "k must be a non-empty string, not "),
    (lambda v: checked_mapping("k", v), [None, [], "x"], "k must be a mapping, not "),
    (lambda v: with_dots(v, {"a.b"}), [None, []], "The configuration must be a mapping, not "),
    (lambda v: with_dots(v, {"a.b"}), [{1: 1}, {None: 1}], "A configuration key is a string, not "),
    (lambda v: with_dots(v, {"a.b"}), [{"a.b": 1, "a_b": 1}], "a.b is given twice"),
    (lambda v: checked_items("k", v, checked_text), ["ab", b"ab", {"a": 1}, list, 7, None], "k must be a list, not "),
    (lambda v: checked_items("k", v, checked_text), [["a", 7]], "k: each of them must be a non-empty string, not 7"),
    (checked_partition, ["ab", ["orders", 0], ("orders",), ("orders", 0, 1), None], "A partition is a TopicPartition"),
    (checked_partition, [("", 0), (7, 0), (None, 0)], "The topic of a partition is a name, not "),
    (checked_partition, [("orders", -1), ("orders", MOST_INT32 + 1), ("orders", True)], f"from 0 to {MOST_INT32}"),
    (lambda v: checked_partitions("k", v), [7, "x", [("orders", -1)]], ", not "),
    (checked_offsets, [None, [], [(FIRST, 1)]], "Offsets are a mapping of partitions to offsets, not "),
    (checked_offsets, [{FIRST: -1}, {FIRST: MOST_INT64 + 1}, {FIRST: True}, {FIRST: "1"}], "The offset of orders"),
    (checked_offsets, [{FIRST: Offset(1, -1)}, {FIRST: Offset(1, MOST_INT32 + 1)}], "The leader epoch of orders"),
    (checked_offsets, [{FIRST: Offset(1, 1, LONE_SURROGATE)}, {FIRST: Offset(1, 1, "x" * 32_768)}], "The metadata of"),
    (checked_offsets, [{FIRST: Offset(1, 1, None)}], "The metadata of"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("check", "value", "result"), PASSES, ids=range(len(PASSES)))
def test_what_is_right_comes_back(check: Callable[[Any], Any], value: object, result: object) -> None:
    """As the type that the callers expect, and cut where more could not be sent or waited for."""
    found = check(value)
    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(("check", "values", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_refused_with_a_sentence(check: Callable[[Any], Any], values: list[Any], words: str) -> None:
    """It names the argument and shows the value, so that the caller finds its mistake."""
    for value in values:
        with pytest.raises(ConfigError) as caught:
            check(value)
        assert words in str(caught.value)


FLAWS = {
    "a\0b": "not 'a\\x00b'. It has a NUL.",
    LONE_SURROGATE: ". It has half a character (a lone surrogate).",
    "é"
    * (LONGEST // 2 + 1): f"... It has {LONGEST + 1} bytes; the longest that Kafka's format can hold has {LONGEST}.",
    " ": "not ' '.",
}


@pytest.mark.parametrize("value", FLAWS, ids=["nul", "surrogate", "long", "blank"])
def test_what_is_wrong_with_a_text_is_said(value: str) -> None:
    """A text of 40,000 bytes was "not a non-empty string", and its end was not shown."""
    for check in (lambda: checked_text("k", value), lambda: checked_partition((value, 0))):
        with pytest.raises(ConfigError) as caught:
            check()
        assert str(caught.value).endswith(FLAWS[value])


def test_what_is_wrong_with_metadata_is_said() -> None:
    """Its end is not shown, so the length is."""
    with pytest.raises(
        ConfigError, match=r"^The metadata of orders-0 must be a string, not 'x+\.\.\.\. It has 32768 bytes"
    ):
        checked_offsets({FIRST: Offset(1, 1, "x" * 32_768)})


def test_a_name_of_the_timeout_is_shown() -> None:
    """Most are called timeout_s, and some are not."""
    with pytest.raises(ConfigError, match=r"^patience_s is a number of seconds, not None"):
        checked_timeout_s(None, "patience_s")


def test_the_limits_are_those_of_kafka_and_of_threads() -> None:
    """A longer wait overflows in threading or in sleep(); larger numbers do not fit into the messages."""
    assert (MOST_INT32, MOST_INT64) == (2_147_483_647, 9_223_372_036_854_775_807)
    assert LONGEST_WAIT_S == 1e9
