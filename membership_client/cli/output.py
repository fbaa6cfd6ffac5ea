"""Standard output of the commands: an output that is full or closed ends every command in the same way."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO

CANNOT_BE_WRITTEN = 2
READER_IS_GONE = 141
"""As shells tell of a program that SIGPIPE ended: 128 + 13. 0 would say that all is well, as `diagnose` means it."""


class OutputError(Exception):
    """Standard output cannot be written. No OSError: commands handle these as errors of the files that they read."""


class GuardedOutput:
    """A text stream in place of `stream`, which raises OutputError where that raises OSError. For all threads."""

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
        """`code`, if everything was written. A full output is told on stderr; a closed one is not, as `| head` is usual."""
        if self._failure is None:
            return code
        if isinstance(self._failure, BrokenPipeError):
            return READER_IS_GONE
        with contextlib.suppress(OSError):
            sys.stderr.write(f"The output cannot be written: {self._failure.strerror}.\n")
        return CANNOT_BE_WRITTEN

    def _failed(self, error: OSError) -> OutputError:
        self._failure = self._failure or error
        # What is left in the buffer goes nowhere: Python would complain of it when the process ends.
        with contextlib.suppress(OSError, ValueError):
            ours, nowhere = self._stream.fileno(), os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, ours)
            os.close(nowhere)
        return OutputError(str(error))
