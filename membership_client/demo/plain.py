"""Plain output: a line per event, ASCII, no cursor control."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Self

from membership_client.cli.output import OutputError
from membership_client.demo.story import Storyteller
from membership_client.demo.summary import Summary, plain_lines

if TYPE_CHECKING:
    from membership_client.demo.happenings import Happening
    from membership_client.demo.recording import Recording


class PlainView:
    """A context in which all that is recorded is printed."""

    def __init__(self, recording: Recording) -> None:
        self._began_at = recording.began_at
        self._story = Storyteller()
        recording.watch(self._print)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, summary: Summary) -> None:
        print("\n".join(plain_lines(summary)), flush=True)

    def _print(self, happening: Happening) -> None:
        line = self._story.tell(happening)
        if line is None:
            return
        space = "\n" if line.tone == "step" else ""
        try:
            print(f"{space}[{line.at - self._began_at:5.1f}s] {line.who:<9}{line.text}", flush=True)
        except OutputError:
            _stop_playing()


def _stop_playing() -> None:
    """The reader of our output is gone: the demonstration ends as if it was interrupted."""
    os.kill(os.getpid(), signal.SIGTERM)
