"""Where on the screen a thing lies."""

from __future__ import annotations

from tests.report.tab import Tab


def place_of(tab: Tab, item: str) -> tuple[float, float]:
    """Where on the screen the thing lies that a JavaScript expression names."""
    return tab.middle(
        f"""(() => {{
            const box = report.drawing.box({item}), at = report.scroll.getBoundingClientRect();
            return {{x: at.x + box.x, y: at.y + box.y - report.scroll.scrollTop, width: box.width, height: box.height}};
        }})()"""
    )
