"""One page in a browser: what it shows, what it complains about, and hands and eyes for it."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

from tests.report.browser import Browser

_PATIENCE_S = 120.0
"""For a page of five hundred lanes on a machine with twenty other processes that want the processor."""
_CODES = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


class Tab:
    def __init__(self, browser: Browser, scheme: str = "light", zone: str = "Europe/Berlin") -> None:
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setTimezoneOverride", timezoneId=zone)
        self.prefer(scheme)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def prefer(self, scheme: str) -> None:
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, path: Path) -> None:
        """Returns once it has loaded and drawn."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.readyState === 'complete' && window.report?.frames > 0")

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    # --- what it shows -----------------------------------------------------------------------------------------------

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression; AssertionError if it throws."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        give_up_at = time.monotonic() + _PATIENCE_S
        while not self.ask(expression):
            assert time.monotonic() < give_up_at, f"never true: {expression}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        return str(self.ask(f"document.querySelector({selector!r}).innerText"))

    def complaints(self) -> list[str]:
        """Errors and warnings in the console, exceptions, violations of the page's own policy."""
        wanted = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [str(event["params"]) for event in self._events() if event["method"] in wanted]

    def requests(self) -> list[str]:
        """What it asked a network for, or a disk."""
        sent = [
            event["params"]["request"]["url"]
            for event in self._events()
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith("data:")]

    def _events(self) -> list[dict[str, Any]]:
        self.call("Runtime.evaluate", expression="0")
        return self._browser.events.get(self._session, [])

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def printed(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    # --- what is done to it ------------------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        code = _CODES.get(key, ord(key.upper()[0]))
        known = {"key": key, "windowsVirtualKeyCode": code} | ({"text": key} if len(key) == 1 else {})
        self.call("Input.dispatchKeyEvent", type="keyDown", **known)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def click_on(self, selector: str) -> None:
        self.click(*self.middle(f"document.querySelector({selector!r}).getBoundingClientRect()"))

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for part in (0.25, 0.5, 1.0):
            self.mouse("mouseMoved", x + part * (to_x - x), y + part * (to_y - y), button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def pinch(self, x: float, y: float, before: float, after: float) -> None:
        """Two fingers, so far apart before and after."""
        for kind, apart in (("touchStart", before), ("touchMove", (before + after) / 2), ("touchMove", after)):
            points = [{"x": x - apart / 2, "y": y, "id": 0}, {"x": x + apart / 2, "y": y, "id": 1}]
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def middle(self, box: str) -> tuple[float, float]:
        """Of what an expression says with x, y, width and height."""
        at = self.ask(f"(() => {{ const b = {box}; return [b.x + b.width / 2, b.y + b.height / 2]; }})()")
        return at[0], at[1]
