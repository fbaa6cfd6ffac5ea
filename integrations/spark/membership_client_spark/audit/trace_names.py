"""Names and defaults of the trace format in SQL, so that no query has a name that the format lacks."""

from __future__ import annotations

import re

from membership_client.trace.format import ENUMERATIONS, RECORDS

_RECORDS = {record.tag: record for record in RECORDS.values()}
_NAMES = _RECORDS.keys() | {word for each in ENUMERATIONS for word in each.words.split()}
_PLACEHOLDER = re.compile(r":([A-Z]\w*)(?:\.(\w+))?")


def with_trace_names(query: str) -> str:
    """`:Heartbeat` and `:STABLE` become texts, `:Member.epoch` the default of that field. KeyError if there is none.

    Parameters of Spark's begin with a small letter, and stay.
    """
    return _PLACEHOLDER.sub(lambda found: _default(*found.groups()) if found[2] else _name(found[1]), query)


def _name(name: str) -> str:
    if name not in _NAMES:
        raise KeyError(name)
    return f"'{name}'"


def _default(tag: str, field: str) -> str:
    default = _RECORDS[tag].default(field)
    return f"{default}D" if isinstance(default, float) else repr(default)


def struct(tags: str, **columns: str) -> str:
    """The type of a value that has one of these tags, with those of its fields that are read. KeyError if it has no such field.

    If it can have several tags, the tag is read as well.
    """
    known = {field for tag in tags.split() for field in _RECORDS[tag].fields}
    if unknown := columns.keys() - known:
        raise KeyError(*unknown)
    tag = {"`is`": "STRING"} if " " in tags else {}
    return f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in (tag | columns).items())}>"
