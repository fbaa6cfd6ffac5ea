"""Where a thread of a program is: for programs that do not end."""

from __future__ import annotations

import sys
import threading
import traceback
from pathlib import Path

_MOST_FRAMES = 8
_PACKAGE = str(Path(__file__).parents[2])
_PYTHON = str(Path(threading.__file__).parent)


def stack_of(ident: int | None) -> str:
    """The newest calls of the program on that thread, as a traceback has them; empty if the thread has ended."""
    frame = sys._current_frames().get(ident or 0)
    own = [one for one in traceback.extract_stack(frame) if _is_of_program(one.filename)]
    return "".join(traceback.format_list(own[-_MOST_FRAMES:])) if frame is not None else ""


def _is_of_program(filename: str) -> bool:
    """Neither of this package nor a module of Python itself."""
    return not filename.startswith(_PACKAGE) and str(Path(filename).parent) != _PYTHON
