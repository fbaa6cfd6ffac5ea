"""The answer to any request with one error code, which each topic or partition gets if Kafka has a code for each."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable
from typing import Any

from membership_client.net.reader import is_array, is_message, item_of, without_none
from membership_client.testing.embedded.wire import Fields, answer_schema

_FETCH, _METADATA = 1, 3
"""Requests whose answers have a code at the top that is not about topics and partitions."""

_CODES = frozenset({"error_code", "partition_error_code"})
_ELSEWHERE = {
    "coordinators": "coordinator_keys",
    "partition_index": "partition",
    "partition_responses": "partition_data",
    "results_by_partition": "partitions",
    "results_by_topic_v3_and_below": "v3_and_below_topics",
}
"""Names of fields of answers that have another name in the request."""
_LISTS = ("topics", "topic_data", "topic_names", "resources", "groups_names", "group_ids")
"""Names in requests of the lists that answers call `responses`, `results` or `groups`."""
_KEYS = frozenset({"key", "name", "group_id", "partition_index"})
"""Names in answers of items that have no name in the request."""


def refusal(request: Any, version: int, code: int) -> Fields:
    """The fields of the answer with this error code."""
    api_key = int(request.__api_key__)
    schema = answer_schema(api_key, version)
    names = {field.name for field in dataclasses.fields(schema)}
    if "error_code" in names and api_key not in {_FETCH, _METADATA}:
        return {"error_code": code}
    return {name: value for name, value in _mirror(schema, request, code).items() if name not in _CODES}


def _mirror(schema: Any, source: Any, code: int) -> dict[str, Any]:
    hints = typing.get_type_hints(schema)
    mirrored: dict[str, Any] = {}
    for field in dataclasses.fields(schema):
        name = field.name
        hint, _ = without_none(hints[name])
        if name in _CODES:
            mirrored[name] = code
        elif is_array(hint) and is_message(item_of(hint)):
            mirrored[name] = [_mirror(item_of(hint), item, code) for item in _items(source, name)]
        elif isinstance(source, str | int):
            mirrored |= {name: source} if name in _KEYS else {}
        elif hasattr(source, name) or hasattr(source, _ELSEWHERE.get(name, "")):
            mirrored[name] = getattr(source, name, None) if hasattr(source, name) else getattr(source, _ELSEWHERE[name])
    # Refused partitions have no offsets, and lists that belong to success are left out.
    return mirrored


def _items(source: Any, name: str) -> Iterable[Any]:
    """The list of the request to which this list of the answer belongs; empty if there is none."""
    own = _ELSEWHERE.get(name, name)
    candidates = (own, *_LISTS) if name in {"responses", "results", "groups"} else (own,)
    return next((found for each in candidates if (found := getattr(source, each, None)) is not None), ())
