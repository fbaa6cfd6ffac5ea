"""The trace format is that of its tables, and traces of older releases stay readable."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
import typing
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from membership_client.core import events
from membership_client.core.events import Effect, Event
from membership_client.core.member import Member
from membership_client.debugger.diagnose import diagnose
from membership_client.errors import Problem
from membership_client.partitions import Partitions
from membership_client.trace import read_trace
from membership_client.trace.format import (
    EFFECTS,
    ENUMERATIONS,
    ENUMS,
    EVENTS,
    RECORDS,
    REQUESTS,
    RESPONSES,
    VERSION,
    RecordFormat,
    Renamed,
    enumeration,
    record,
)
from membership_client.trace.values import Json, decode, encode
from membership_client.types import MemberState
from membership_client.values import dataclass

GOLDEN = sorted((Path(__file__).parent / "golden").glob("version_1_*.jsonl"))
"""Recorded by the release before the format had tables; lines of later kinds are added, and no line is changed."""

NEVER_TRACED = {
    events.CommitOffsets,
    events.FetchOffsets,
    events.OffsetsCommitted,
    events.OffsetsFetched,
    events.OutsideRequest,
    events.OutsideResponse,
}
"""Requests that other parts send over the member's connection, and their answers: the state machine never sees them."""


def _classes_in(hint: Any, found: set[Any]) -> set[Any]:
    """All classes with fields, and all enums, that a value of that type can hold."""
    for part in typing.get_args(hint):
        _classes_in(part, found)
    if hint in found or hint in NEVER_TRACED or not isinstance(hint, type):
        return found
    if issubclass(hint, enum.Enum):
        found.add(hint)
    elif dataclasses.is_dataclass(hint) and hint is not Partitions:  # Written as ranges, not by its fields.
        found.add(hint)
        for part in typing.get_type_hints(hint).values():
            _classes_in(part, found)
    return found


def _classes_of(records: tuple[RecordFormat, ...]) -> set[type[Any]]:
    return {each.kind for each in records}


def test_every_class_that_a_trace_can_hold_has_an_entry() -> None:
    """A step with a class that has no entry could not be written, and would be missing in the trace."""
    found: set[Any] = set()
    for hint in (Event, Effect, Member, Problem, MemberState):
        _classes_in(hint, found)
    assert found == RECORDS.keys() | ENUMS.keys()


@pytest.mark.parametrize(
    ("records", "union"),
    [
        (EVENTS, events.Event),
        (EFFECTS, events.Effect),
        (REQUESTS, events.Request),
        (RESPONSES, events.Response),
    ],
)
def test_events_effects_requests_and_responses_are_listed_as_such(
    records: tuple[RecordFormat, ...], union: Any
) -> None:
    """The documentation shows them under these titles."""
    assert _classes_of(records) == set(typing.get_args(union)) - NEVER_TRACED


@pytest.mark.parametrize("entry", RECORDS.values(), ids=lambda entry: entry.tag)
def test_every_field_has_an_entry(entry: RecordFormat) -> None:
    """A field without an entry would be missing in every trace, and a replay would use its default."""
    named = {entry.attribute(field) for field in entry.fields}
    assert named == {field.name for field in dataclasses.fields(entry.kind)}


@pytest.mark.parametrize("entry", ENUMERATIONS, ids=lambda entry: entry.name)
def test_every_enum_value_has_a_word(entry: Any) -> None:
    """Each value has one word, and no two have the same."""
    assert sorted(member.name for member in entry.members().values()) == sorted(member.name for member in entry.kind)


def test_no_tag_stands_for_two_classes() -> None:
    """A reader knows the class of a value only by its tag."""
    tags = [entry.tag for entry in RECORDS.values()]
    assert len(set(tags)) == len(tags)


# --- golden traces ---------------------------------------------------------------------------------------------------


def _written_again(line: dict[str, Json]) -> dict[str, Json]:
    """The line after this release has read and written every value."""
    hints = {"start": Member, "event": Event, "problem": Problem | None, "state": MemberState}
    again = {key: encode(decode(hint, line[key])) for key, hint in hints.items() if key in line}
    if "effects" in line:
        again["effects"] = [encode(decode(Effect, effect)) for effect in line["effects"]]
    return line | again


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_an_old_trace_is_read_and_written_again_letter_by_letter(path: Path) -> None:
    """Tags, fields, their order and the fields that are left out are the same."""
    for line in path.read_text().splitlines():
        again = json.dumps(_written_again(json.loads(line)), separators=(",", ":"), ensure_ascii=False)
        assert again == line


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_an_old_trace_can_be_diagnosed(path: Path) -> None:
    """Its sections are read like those of this release."""
    sections = read_trace(path)
    assert {section.header["trace"] for section in sections} == {VERSION}
    assert diagnose([section for section in sections if section.entries])


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    """Every value with a tag in a line of a trace."""
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from _objects(part)
    if isinstance(value, dict) and "is" in value:
        yield value


def _golden_objects() -> Iterator[dict[str, Json]]:
    for path in GOLDEN:
        for line in path.read_text().splitlines():
            yield from _objects(json.loads(line))


def test_the_golden_traces_have_every_class_with_and_without_each_field() -> None:
    """A new class or field needs a line in tests/trace/golden with all fields, and one with its defaults left out."""
    in_full: dict[str, set[str]] = defaultdict(set)
    without: dict[str, set[str]] = defaultdict(set)
    fields = {entry.tag: set(entry.fields) for entry in RECORDS.values()}
    for value in _golden_objects():
        in_full[value["is"]] |= value.keys() - {"is"}
        without[value["is"]] |= fields[value["is"]] - value.keys()
    assert in_full == fields
    # Empty maps are written although readers could do without.
    may_lack = {
        entry.tag: {field for field in entry.fields if entry.default(field) not in (..., {})}
        for entry in RECORDS.values()
    }
    assert {tag: fields & may_lack[tag] for tag, fields in without.items()} == may_lack


def test_the_golden_traces_have_every_word() -> None:
    """This includes words that only a rare failure writes."""
    text = "".join(path.read_text() for path in GOLDEN)
    words = [word for entry in ENUMERATIONS for word in entry.words.split()]
    assert [word for word in words if f'"{word}"' not in text] == []


# --- the page --------------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parent.parent.parent / "docs" / "trace-format.md").read_text()


def _documented_keys(title: str) -> set[str]:
    """The keys in the first column of the table under that title."""
    table = PAGE.partition(f"### {title}\n")[2].partition("\n#")[0]
    return {key for cell in re.findall(r"^\|([^|]+)\|", table, re.MULTILINE) for key in re.findall(r"`(.+?)`", cell)}


def test_the_page_has_every_key_of_a_header_and_of_a_step() -> None:
    """It has the keys that the golden traces have, and no others."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in GOLDEN:
        for line in map(json.loads, path.read_text().splitlines()):
            found["Header" if "trace" in line else "Step" if "event" in line else "Note"] |= line.keys()
    assert {title: _documented_keys(title) for title in ("Header", "Step")} == {
        title: found[title] for title in ("Header", "Step")
    }
    notes = PAGE.partition("### Note\n")[2].partition("\n#")[0]
    assert [key for key in found["Note"] if f"`{key}`" not in notes] == []


def test_the_example_of_the_page_is_a_trace(tmp_path: Path) -> None:
    """This release writes such a trace."""
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "example").write_text(example)
    (section,) = read_trace(tmp_path / "example")
    for line in (section.header, *section.entries):
        assert _written_again(line) == line


# --- what the tables are for -----------------------------------------------------------------------------------------


class Fruit(enum.Enum):
    APPLE = 1
    QUINCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Basket:
    holds: Fruit = Fruit.APPLE
    count: int = 1
    weight_s: float


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes, with renamed fields and enum values and a changed default, as after a change of the code."""
    entry = record("Bag", Basket, fruit=Renamed("holds", "APPLE"), count=12, weight_s=0.5)
    monkeypatch.setitem(RECORDS, entry.kind, entry)
    words = enumeration("Fruit", Fruit, "APPLE PEAR", PEAR="QUINCE")
    monkeypatch.setitem(ENUMS, words.kind, words)


@pytest.mark.usefixtures("renamed")
def test_names_in_a_trace_outlive_names_in_the_code() -> None:
    """A renamed class, field or enum value is written and read by its old name."""
    basket, shown = Basket(holds=Fruit.QUINCE, count=3, weight_s=1.5), {"fruit": "PEAR", "count": 3, "weight_s": 1.5}
    assert encode(basket) == {"is": "Bag"} | shown
    assert decode(Basket | None, {"is": "Bag"} | shown) == basket


@pytest.mark.usefixtures("renamed")
def test_defaults_in_a_trace_outlive_defaults_in_the_code() -> None:
    """A field that an old trace lacks has the old default. The old default is left out, and the new one is written."""
    assert decode(Basket, {"is": "Bag"}) == Basket(holds=Fruit.APPLE, count=12, weight_s=0.5)
    assert encode(Basket(count=12, weight_s=0.5)) == {"is": "Bag", "weight_s": 0.5}
    assert encode(Basket(weight_s=0.5)) == {"is": "Bag", "count": 1, "weight_s": 0.5}


def test_a_value_without_an_entry_is_refused() -> None:
    """It is not written in a form that no reader knows."""
    with pytest.raises(TypeError, match="CommitOffsets has no entry in the trace format"):
        encode(events.CommitOffsets(group_id="g", member_id="m", epoch=1, instance_id=None, offsets={}))
