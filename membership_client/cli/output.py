"""Standard output of the commands: an output that is full or closed ends every command in the same way."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO

CANNOT_BE_WRITTEN = 2
READER_IS_GONE = 141
"""The exit code that shells show for a program ended by SIGPIPE: 128 + 13. With 0, `diagnose` would say that it found no fault."""


class OutputError(Exception):
    """Standard output cannot be written. It is no OSError, because commands handle that as an error of a file that they read."""


class GuardedOutput:
    """A text stream that writes to `stream`, and raises OutputError where `stream` raises OSError. For any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise self._failed(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise self._failed(error) from error

    def exit_code(self, code: int) -> int:
        """The exit code: `code` if all was written. A full output is reported on stderr; a closed one, as by `| head`, is not."""
        if self._failure is None:
            return code
        if isinstance(self._failure, BrokenPipeError):
            return READER_IS_GONE
        with contextlib.suppress(OSError):
            sys.stderr.write(f"The output cannot be written: {self._failure.strerror}.\n")
        return CANNOT_BE_WRITTEN

    def _failed(self, error: OSError) -> OutputError:
        self._failure = self._failure or error
        # The rest of the buffer is dropped, because Python would report an error for it when the process ends.
        with contextlib.suppress(OSError, ValueError):
            ours, nowhere = self._stream.fileno(), os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, ours)
            os.close(nowhere)
        return OutputError(str(error))
