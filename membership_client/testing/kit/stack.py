"""The stack of a thread, for reports about programs that do not end."""

from __future__ import annotations

import threading
import traceback
from pathlib import Path

from membership_client.runtime.busy_thread import frame_of

_MOST_FRAMES = 8
_PACKAGE = f"{Path(__file__).parents[2]}/"
_PYTHON = str(Path(threading.__file__).parent)


def stack_of(ident: int | None) -> str:
    """The newest calls of the program on that thread, as a traceback has them; empty if the thread has ended."""
    if (frame := frame_of(ident)) is None:
        return ""
    own = [one for one in traceback.extract_stack(frame) if _is_of_program(one.filename)]
    return "".join(traceback.format_list(own[-_MOST_FRAMES:]))


def _is_of_program(filename: str) -> bool:
    """Whether the file is neither of this package nor a module of Python."""
    return not filename.startswith(_PACKAGE) and str(Path(filename).parent) != _PYTHON
