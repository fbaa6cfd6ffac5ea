"""Writes the tables of docs/trace-format.md from those of the code; --check only compares.

The sentence that says what a tag means is written by hand, in the page, and stays.
"""

from __future__ import annotations

import json
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from membership_client.core.events import Request, Response
from membership_client.partitions import Partitions
from membership_client.trace import format as trace_format
from membership_client.trace.format import ENUMERATIONS, ENUMS, RECORDS, Enumeration, RecordFormat
from membership_client.types import TopicPartition

PAGE = Path(__file__).parent.parent / "docs" / "trace-format.md"
BEGIN, END = (
    "<!-- scripts/write_trace_tables.py writes this, but for the column `meaning` -->\n",
    "<!-- up to here -->\n",
)

TABLES = {
    "Events": trace_format.EVENTS,
    "Effects": trace_format.EFFECTS,
    "Requests": trace_format.REQUESTS,
    "Responses": trace_format.RESPONSES,
    "Values inside of these": trace_format.PARTS,
    "The member in `start`": trace_format.START,
}

_FORMS: dict[Any, str] = {
    str: "text",
    int: "integer",
    bool: "boolean",
    float: "seconds",
    UUID: "topic id",
    TopicPartition: "partition",
    Partitions: "ranges",
    Request: "request",
    Response: "response",
    types.NoneType: "null",
}


def tables(meanings: Mapping[str, str]) -> str:
    """All of them, as Markdown."""
    parts = [_table(title, "tag", "fields", (_row(each, meanings) for each in rows)) for title, rows in TABLES.items()]
    enums = (_enum_row(each, meanings) for each in ENUMERATIONS)
    return "\n".join([*parts, _table("Enums", "name in the tables above", "words", enums)])


def _table(title: str, first: str, last: str, rows: Iterable[str]) -> str:
    return f"### {title}\n\n| {first} | meaning | {last} |\n|---|---|---|\n{''.join(rows)}"


def _row(record: RecordFormat, meanings: Mapping[str, str]) -> str:
    hints = typing.get_type_hints(record.kind)
    fields = (_field(record, name, hints[record.attribute(name)]) for name in record.fields)
    return f"| `{record.tag}` | {meanings.get(record.tag, '')} | {'; '.join(fields)} |\n"


def _enum_row(entry: Enumeration, meanings: Mapping[str, str]) -> str:
    return f"| {entry.name} | {meanings.get(entry.name, '')} | {', '.join(f'`{w}`' for w in entry.words.split())} |\n"


def _field(record: RecordFormat, name: str, hint: Any) -> str:
    default = record.default(name)
    return f"`{name}` {form(hint)}" + ("" if default is ... else f" = `{json.dumps(default)}`")


def form(hint: Any) -> str:
    """What a value of that type is in a trace."""
    arguments = typing.get_args(hint)
    match typing.get_origin(hint):
        case _ if hint in _FORMS:
            return _FORMS[hint]
        case types.UnionType | typing.Union:
            return " or ".join(form(argument) for argument in arguments)
        case typing.Literal:
            return "text"
        case None:
            return RECORDS[hint].tag if hint in RECORDS else ENUMS[hint].name
        case kind if issubclass(kind, Mapping):
            return f"{{{form(arguments[0])}: {form(arguments[1])}}}"
        case _:
            return f"[{form(arguments[0])}]"


def main() -> int:
    page = PAGE.read_text()
    meanings = dict(re.findall(r"^\| `?(\w+)`? \| ([^|]+) \|", page, re.MULTILINE))
    before, _, rest = page.partition(BEGIN)
    written = f"{before}{BEGIN}\n{tables(meanings)}\n{END}{rest.partition(END)[2]}"
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written)
    elif page != written:
        print("docs/trace-format.md is out of date: run scripts/write_trace_tables.py")
        return 1
    if unexplained := re.findall(r"^\| `?(\w+)`? \|  \|", written, re.MULTILINE):
        print(f"docs/trace-format.md does not say what these mean: {', '.join(unexplained)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
