"""Draw the bridge of a Consumer into docs/threads.md from its tables, or check that it is up to date (--check)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from membership_client.consumer.bridge import PHASES, STAGES, Phase, Stage

PAGE = Path(__file__).parent.parent / "docs" / "threads.md"
_DRAWING = re.compile(r"(<!-- bridge -->\n```mermaid\n).*?(```)", re.DOTALL)


def drawing() -> str:
    stages = [
        f"        {_name(before)} --> {_name(after)}: {fact.__name__}" for (before, fact), after in STAGES.items()
    ]
    visit = f"        {Stage.WAITING.name} --> {Stage.RUNNING.name}: visit"
    phases = [f"        {before.name} --> {after.name}" for before, afters in PHASES.items() for after in afters]
    first = f"        [*] --> {Phase.OPEN.name}"
    callback = ["    state callback {", *stages, visit, "    }"]
    return "\n".join(["stateDiagram-v2", *callback, "    state consumer {", first, *phases, "    }", ""])


def _name(stage: Stage | None) -> str:
    return "[*]" if stage is None else stage.name


def page(text: str) -> str:
    return _DRAWING.sub(lambda found: f"{found[1]}{drawing()}{found[2]}", text)


def main() -> int:
    text = PAGE.read_text()
    if "--check" in sys.argv[1:]:
        return 0 if text == page(text) else 1
    PAGE.write_text(page(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
