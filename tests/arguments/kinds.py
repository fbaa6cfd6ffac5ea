"""What kinds of parameters there are: a good value of each, and which of the bad values are good for it, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.arguments.bad_values import ALIKE, BAD


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of parameter. `inside` feeds the bad values as a part of something bigger: a key, an element, a field."""

    good: Any
    takes: frozenset[str] = frozenset()
    inside: Mapping[str, tuple[Callable[[Any], Any], frozenset[str]]] = field(default_factory=dict)
    raises: frozenset[str] = frozenset()
    """Functions that raise by themselves when they are called: that is for the caller to see."""
    also: Mapping[str, Any] = field(default_factory=dict)
    """More that it must refuse."""

    def values(self) -> Iterator[tuple[str, Any, bool]]:
        """What to feed: its name, the value, and whether it may be taken."""
        for name, value in BAD.items():
            if name not in self.raises:
                yield name, value, is_in(self.takes, name)
        for place, (wrapped, takes) in self.inside.items():
            for name, value in BAD.items():
                try:
                    whole = wrapped(value)
                except (TypeError, OverflowError):  # A list is no key of a mapping.
                    continue
                yield f"{place} {name}", whole, is_in(takes, name)
        for name, value in self.also.items():
            yield name, value, False

    def optional(self) -> Kind:
        return replace(self, takes=self.takes | {"None"})


def is_in(takes: frozenset[str], name: str) -> bool:
    """Is this one of those that are taken, or as good as one?"""
    return name in takes or ALIKE.get(name) in takes
