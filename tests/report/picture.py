"""Makes the picture of a report in the documents again: `python -m tests.report.picture docs/images/report.png`.

It shows the incident whose diagnosis stands on the same page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.report.page import render
from tests.diagnose.test_page import incident
from tests.diagnose.traces import sections_of
from tests.report.browser import Browser, browser
from tests.report.pointing import place_of
from tests.report.tab import Tab


def take(chromium: Browser, folder: Path, picture: Path) -> None:
    page = folder / "report.html"
    page.write_text(render(compose(sections_of(incident()), 2.0)))
    tab = Tab(chromium, zone="UTC")
    tab.call("Emulation.setDeviceMetricsOverride", width=1320, height=800, deviceScaleFactor=1, mobile=False)
    tab.open(page)
    tab.mouse("mouseMoved", *place_of(tab, "report.model.partitions[4].overlaps[0]"))
    tab.wait_for("!report.pending && !document.getElementById('tip').hidden")
    tab.screenshot(picture)
    tab.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, browser(Path(folder)) as started:
        take(started, Path(folder), Path(sys.argv[1]))
