"""Writes the table of librdkafka's keys into docs/configuration.md, from the table in the code; --check only compares."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from membership_client.consumer.keys import SECTIONS, Key, Reach

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
BEGIN, END = "<!-- scripts/write_key_table.py writes this -->\n", "<!-- up to here -->\n"


def table() -> str:
    """All sections, as Markdown."""
    return "\n".join(f"### {title}\n\n{_rows(keys)}" for title, keys in SECTIONS.items())


def _rows(keys: Mapping[str, Key]) -> str:
    head = "| key | who acts on it | what is different |\n|---|---|---|\n"
    return head + "".join(f"| `{name}` | {_who(key)} | {key.note} |\n" for name, key in sorted(keys.items()))


def _who(key: Key) -> str:
    return f"**{key.reach.value}**" if key.reach is Reach.REFUSED else key.reach.value


def main() -> int:
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    written = f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"
    if "--check" in sys.argv[1:]:
        if page != written:
            print("docs/configuration.md is out of date: run scripts/write_key_table.py")
            return 1
        return 0
    PAGE.write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
