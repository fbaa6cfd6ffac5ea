"""Checks what an application passes to a constructor, a method or a configuration key, where it passes it.

Each check takes the name that the application knows the value by, and returns the value, or raises ConfigError. A wrong
value would otherwise be found by the membership thread when it writes a request, or not at all.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, cast

from membership_client.errors import ConfigError
from membership_client.types import Offset, TopicPartition

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")


class PartitionLike(Protocol):
    """A TopicPartition of ours or of confluent-kafka."""

    @property
    def topic(self) -> str: ...

    @property
    def partition(self) -> int: ...


P = TypeVar("P", bound=PartitionLike)
"""The type of all keys of one mapping: our TopicPartition or confluent-kafka's."""

MOST_INT32 = 2**31 - 1
MOST_INT64 = 2**63 - 1
LONGEST_WAIT_S = 1e9
"""Thirty years. Threads and queues can wait for 292 (threading.TIMEOUT_MAX), but time.sleep() adds the time since the
machine was started, and raises OSError when the sum is more than that."""

_LONGEST_TEXT_BYTES = 32_767
"""The longest string in Kafka's format, whose length is an int16."""
_LONGEST_SHOWN = 200
_PLAIN: Mapping[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
_AS_THEY_ARE = frozenset({*_PLAIN, bool, type(None)})
# The patterns are compiled where they are first used: `re` keeps them, and an import should not take the time.
_NUMBER = r"\s*(?P<sign>[+-]?)(?P<digits>0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,20}|[1-9][0-9]{0,19})(?:\.[0-9]*)?\s*"
_DURATION = r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
_DURATION_S = (86_400, 3600, 60, 1)
_LEGAL_TOPIC = r"[a-zA-Z0-9._-]{1,249}"
_BROKEN_PATTERN = (
    r"unterminated character set|missing \)|unbalanced paren|nothing to repeat|bad character range|bad escape \(end"
)
"""Python's errors for patterns that are wrong in every dialect. Brokers judge the others: RE2/J has syntax that Python lacks."""

_OTHER_SETS = ("[[", "--", "&&", "~~", "||")
"""Python warns about these character sets, although RE2 knows some of them. So they are not checked."""


def shown(value: object) -> str:
    """The value for an error text: short, also for an int of 5,000 digits or an object whose repr raises."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - it is the application's own __repr__
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def plain(value: T) -> T:
    """A text or a number without its subclass; anything else as it is.

    str() of a member of `class Topic(str, Enum)` is "Topic.ORDERS": librdkafka would look for a broker of that name, log
    lines would show it, and the trace has no entry for its class.
    """
    if type(value) in _AS_THEY_ARE:
        return value
    return cast("T", next((copy(value) for kind, copy in _PLAIN.items() if isinstance(value, kind)), value))


def is_unset(value: object) -> bool:
    """None or an empty text. Other values may not be comparable: an array of numpy has no single truth."""
    return value is None or (isinstance(value, str) and not value)


# --- texts -----------------------------------------------------------------------------------------------------------


def is_text(value: object) -> TypeGuard[str]:
    """A text that can be sent to brokers and librdkafka: not blank, in UTF-8, without NUL, and not too long for Kafka's format."""
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value and _is_utf8(value)


def _is_for_c(value: str) -> bool:
    """Can C and UTF-8 hold the text? Its length does not matter, because certificates are long."""
    return "\0" not in value and value == value.encode(errors="ignore").decode()


def _is_utf8(value: object) -> bool:
    """Can UTF-8 encode it? A string of Python may hold a lone surrogate, which it cannot."""
    try:
        return isinstance(value, str) and len(value.encode()) <= _LONGEST_TEXT_BYTES
    except UnicodeEncodeError:
        return False


def _flaw(value: object) -> str:
    """A sentence about what keeps a text from being sent, with a space before it; empty for a blank one and for other types."""
    if not isinstance(value, str):
        return ""
    sent, longest = value.encode(errors="ignore"), _LONGEST_TEXT_BYTES
    if sent.decode() != value:
        return " It has half a character (a lone surrogate)."
    if len(sent) > longest:
        return f" It has {len(sent)} bytes; the longest that Kafka's format can hold has {longest}."
    return " It has a NUL." if "\0" in value else ""


def checked_text(name: str, value: object) -> str:
    if not is_text(value):
        raise ConfigError(f"{name} must be a non-empty string, not {shown(value)}.{_flaw(value)}")
    return plain(value)


def checked_topic(name: str, value: object) -> str:
    """A name that a topic can have: a subscription to any other would wait for ever."""
    topic = checked_text(name, value)
    if not re.fullmatch(_LEGAL_TOPIC, topic) or topic in {".", ".."}:
        raise ConfigError(
            f"{name}: {shown(topic)} is not the name of a topic, which has 1 to 249 letters, digits, '.', '_' or '-', and "
            "is not '.' or '..'. Patterns are for GroupMember.subscribe_pattern(), or begin with '^' in Consumer.subscribe()."
        )
    return topic


def checked_pattern(value: str) -> str:
    """A regular expression that is not broken: found at once, and not when a broker refuses it."""
    if any(other in value for other in _OTHER_SETS):
        return value
    try:
        re.compile(value)
    except re.error as error:
        if re.match(_BROKEN_PATTERN, error.msg):
            raise ConfigError(f"The pattern {shown(value)} is broken: {error.msg}.") from None
    return value


def checked_path(name: str, value: object) -> Path:
    """The path of a file or a directory, which need not exist."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str) or not text or "\0" in text or not _is_utf8(text):
        raise ConfigError(f"{name} must be a path, not {shown(value)}.")
    from pathlib import Path  # noqa: PLC0415 - loads urllib

    return Path(plain(text))


def checked_choice(name: str, value: object, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {shown(value)}.")
    return plain(value)


def reason_text(value: object) -> str | None:
    """Any value, such as an exception, as text that can be sent, because no leave may fail over its reason."""
    if value is None:
        return None
    text = value if isinstance(value, str) else _said(value)
    return text.encode(errors="backslashreplace")[:_LONGEST_TEXT_BYTES].decode(errors="ignore")


def _said(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - it is the application's own __str__
        return shown(value)


# --- numbers ---------------------------------------------------------------------------------------------------------


def is_whole(value: object) -> TypeGuard[int]:
    """Is it an int? False for a bool, and for a float with a whole number: both are mistakes."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - not NaN


def checked_whole(name: str, value: object, *, least: int = 0, most: int = MOST_INT64) -> int:
    if not is_whole(value) or not least <= value <= most:
        raise ConfigError(f"{name} must be a whole number from {least} to {most}, not {shown(value)}.")
    return plain(value)


def checked_seconds(name: str, value: object) -> float:
    """A number of seconds that is finite and not negative."""
    if not _is_number(value) or not 0 <= value < math.inf:
        raise ConfigError(f"{name} must be a number of seconds that is not negative, not {shown(value)}.")
    return float(min(value, LONGEST_WAIT_S))


def checked_moment(name: str, value: object) -> float:
    """A point in time as `time.monotonic()` gives it."""
    if not _is_number(value):
        raise ConfigError(f"{name} must be a time as time.monotonic() gives it, not {shown(value)}.")
    return float(max(-LONGEST_WAIT_S, min(value, LONGEST_WAIT_S)))


def checked_timeout_s(value: object, name: str = "timeout_s") -> float:
    """Seconds as threads and queues take them: a negative timeout is 0, infinity is LONGEST_WAIT_S. ConfigError for NaN."""
    if not _is_number(value):
        raise ConfigError(f"{name} is a number of seconds, not {shown(value)}.")
    return float(min(max(0.0, value), LONGEST_WAIT_S))


def duration_s(text: str) -> float | None:
    """Seconds of a duration in ISO 8601, as Java's tools and clients take it: P1D, PT6H, PT1H30M. None if it is none.

    Infinite if it is longer than a float can hold.
    """
    parts = re.fullmatch(_DURATION, text, re.ASCII | re.IGNORECASE)
    if parts is None or not any(parts.groups()):
        return None
    return sum(float(part or 0) * each_s for part, each_s in zip(parts.groups(), _DURATION_S, strict=True))


def whole_from(value: object) -> object:
    """A number in all forms of librdkafka: `6000.0`, `"6000"`, `"6000.0"` and `"0x1770"` are 6000. Anything else as it is.

    As in librdkafka a fraction is cut off, and a text that begins with 0 is octal. A text with more than a number in it stays
    as it is, so that a check refuses it: librdkafka takes "5 minutes" for 5.
    """
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else value
    found = re.fullmatch(_NUMBER, value) if isinstance(value, str) else None
    return value if found is None else int(found["sign"] + found["digits"], _base(found["digits"]))


def _base(digits: str) -> int:
    if digits[:2] in {"0x", "0X"}:
        return 16
    return 8 if digits[0] == "0" else 10


def word_from(value: object) -> object:
    """A word as librdkafka takes it, in any case and with space around it. Anything else as it is."""
    return value.strip().lower() if isinstance(value, str) else value


def flag_from(value: object) -> object:
    """A flag as librdkafka takes it: a bool, 1 and 0, or a word for one, in any case. Anything else as it is."""
    word = str(value).lower() if isinstance(value, str | bool | int) and _is_short(value) else None
    return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(word or "", value)


def _is_short(value: str | int) -> bool:
    """Can it be written with str()? An int may have more digits than that writes."""
    return isinstance(value, str) or value in (0, 1)


def checked_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, not {shown(value)}.")
    return value


# --- classes and functions -------------------------------------------------------------------------------------------


def checked_instance(name: str, value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise ConfigError(f"{name} must be a {kind.__name__}, not {shown(value)}.")
    return value


def checked_function(name: str, value: object, of: str) -> None:
    """A function; `of` names its arguments for the error."""
    if not callable(value):
        raise ConfigError(f"{name} must be a function of {of}, not {shown(value)}.")


def optional(check: Callable[[str, Any], T], name: str, value: object) -> T | None:
    """Like `check`, but None is allowed."""
    return None if value is None else check(name, value)


# --- collections -----------------------------------------------------------------------------------------------------


def checked_mapping(name: str, value: object) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a mapping, not {shown(value)}.")
    return value


def with_dots(config: object, known: Collection[str]) -> dict[str, Any]:
    """The configuration with dots in all known keys. ConfigError for a key in both spellings, or that is no text.

    ConfigError also for texts that C cannot hold: confluent-kafka ends the process for a key with half a character, raises
    SystemError for such a value, and cuts a text at a NUL.
    """
    dotted: dict[str, Any] = {}
    for key, value in checked_mapping("The configuration", config).items():
        if not isinstance(key, str) or not _is_for_c(key):
            raise ConfigError(f"A configuration key is a string, not {shown(key)}.")
        if isinstance(value, str) and not _is_for_c(value):
            # The value is not shown, because it may be a password.
            raise ConfigError(f"The value of {shown(key)} has a NUL, or half a character (a lone surrogate).")
        name = key.replace("_", ".") if key.replace("_", ".") in known else plain(key)
        if name in dotted:
            raise ConfigError(f"{name} is given twice, with dots and with underscores: which of them is meant?")
        dotted[name] = plain(value)
    return dotted


def checked_items(name: str, value: object, check: Callable[[str, Any], T]) -> tuple[T, ...]:
    """The elements, each checked. A string or a mapping is refused, because its letters or keys would be taken for elements."""
    if isinstance(value, str | bytes | Mapping | type) or not isinstance(value, Iterable):
        raise ConfigError(f"{name} must be a list, not {shown(value)}.")
    return tuple(check(f"{name}: each of them", item) for item in value)


def checked_partition(value: object) -> TopicPartition:
    """Our TopicPartition, from one of ours, one of confluent-kafka's, or a pair of topic and number.

    Raises:
        ConfigError: no partition has that name.
    """
    pair = (value.topic, value.partition) if _is_theirs(value) else value
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ConfigError(f"A partition is a TopicPartition, or a pair of topic and number, not {shown(value)}.")
    topic = pair[0]
    if not is_text(topic):
        raise ConfigError(f"The topic of a partition is a name, not {shown(topic)}.{_flaw(topic)}")
    return TopicPartition(
        plain(topic), checked_whole(f"The number of a partition of {topic}", pair[1], most=MOST_INT32)
    )


def _is_theirs(value: object) -> TypeGuard[PartitionLike]:
    """Is it a confluent_kafka.TopicPartition? Does not import confluent-kafka: if the program did not, the value cannot be one."""
    kind = getattr(sys.modules.get("confluent_kafka"), "TopicPartition", None)
    return kind is not None and isinstance(value, kind)


def checked_partitions(name: str, value: object) -> tuple[TopicPartition, ...]:
    return checked_items(name, value, lambda _, partition: checked_partition(partition))


def checked_offsets(value: object) -> dict[TopicPartition, Offset]:
    """From a mapping whose values are Offsets or ints. Raises ConfigError if they cannot be committed."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"Offsets are a mapping of partitions to offsets, not {shown(value)}.")
    return {(place := checked_partition(key)): _checked_offset(offset, place) for key, offset in value.items()}


def _checked_offset(value: Any, partition: TopicPartition) -> Offset:
    offset = value if isinstance(value, Offset) else Offset(value)
    number = checked_whole(f"The offset of {partition}, the number of a record,", offset.offset)
    if offset.leader_epoch is not None:
        checked_whole(f"The leader epoch of {partition}", offset.leader_epoch, most=MOST_INT32)
    if not _is_utf8(offset.metadata):
        text = offset.metadata
        raise ConfigError(f"The metadata of {partition} must be a string, not {shown(text)}.{_flaw(text)}")
    return Offset(number, plain(offset.leader_epoch), plain(offset.metadata))
