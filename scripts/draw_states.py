"""Draw docs/states.md from the transition table, or check that it is up to date (--check)."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from membership_client import types
from membership_client.core.member import TRANSITIONS
from membership_client.types import MemberState

PAGE = Path(__file__).parent.parent / "docs" / "states.md"

HEAD = """# States

For people who read the state of a member in a log line, in a trace or in `snapshot.state`. Drawn by `scripts/draw_states.py` from the
table in `membership_client/core/member.py`; a test keeps it true.

"""


def meanings() -> dict[str, str]:
    """Each state's own docstring, which Python does not keep at run time."""
    source = inspect.getsource(types.MemberState)
    return dict(re.findall(r'^    ([A-Z]+) = ".*"\n    """(.*)"""$', source, re.MULTILINE))


def diagram() -> str:
    arrows = (f"    {start.name} --> {end.name}: {why}" for (start, end), why in TRANSITIONS.items())
    first = f"    [*] --> {MemberState.UNSUBSCRIBED.name}"
    return "\n".join(["```mermaid", "stateDiagram-v2", first, *arrows, "```"])


def page() -> str:
    told = meanings()
    rows = "\n".join(f"| {state.name} | {told[state.name]} |" for state in MemberState)
    return f"{HEAD}| state | meaning |\n|---|---|\n{rows}\n\n{diagram()}\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
