"""A trace as a file of lines: whole lines only, on disk as soon as they are written, and never larger than allowed."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger("membership_client")


class TraceFile:
    """Appends to the file. A file that another process is writing is left alone: this one gets its pid into its name.

    One `write` per line, unbuffered: what was written survives SIGKILL of this process. Trouble with the disk ends the
    trace with a warning and never reaches the member. A link is not followed, and another user's file not written.
    """

    def __init__(self, path: Path, *, max_bytes: int, keep: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._file: int | None = None
        self._size = 0
        self._full_at = max_bytes
        self._rotates = True
        try:
            self._open()
        except (OSError, ValueError) as error:  # A name that the system cannot have is a ValueError.
            self._give_up(error)

    @property
    def path(self) -> Path:
        return self._path

    def begin(self, header: str) -> None:
        """The first line of a run, or of a new file. After a header that is longer than a file may be, the file may grow by its limit."""
        try:
            self._append(header)
        except OSError as error:
            self._give_up(error)
        self._full_at = max(self._max_bytes, 2 * len(header))

    def write(self, line: str) -> bool:
        """True if this filled the file: a new one was begun and wants a header."""
        try:
            self._append(line)
            return self._rotate() if self._rotates and self._size >= self._full_at else False
        except OSError as error:
            self._give_up(error)
            return False

    def _append(self, line: str) -> None:
        if self._file is None:
            return
        content = as_bytes(line) + b"\n"
        written = os.write(self._file, content)
        self._size += written
        if written < len(content):
            # The next line would continue half a line.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def forget(self) -> None:
        """In a forked child: its copy of the descriptor would keep the lock after the end of the parent."""
        self.close()

    def _rotate(self) -> bool:
        """`trace` becomes `trace.1`, which becomes `trace.2`, and so on; the oldest is deleted."""
        self.close()
        for number in range(self._keep, 0, -1):
            older = self._numbered(number - 1) if number > 1 else self._path
            if older.exists():
                older.replace(self._numbered(number))
        if self._keep == 0:
            self._path.unlink()
        self._open()
        return True

    def _open(self) -> None:
        self._path, self._file = _open_own(self._path)
        found = os.fstat(self._file)
        # A pipe, or /dev/null, must never be put aside.
        self._rotates, self._size = stat.S_ISREG(found.st_mode), found.st_size
        if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":
            # The last run ended in the middle of a line: this run must not continue that line.
            self._size += os.write(self._file, b"\n")

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _give_up(self, error: OSError | ValueError) -> None:
        logger.warning("The trace %s cannot be written and ends here: %s", self._path, error)
        self.close()


def _open_own(path: Path) -> tuple[Path, int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return path, _open(path)
    except BlockingIOError:
        own = path.with_name(f"{path.name}.pid{os.getpid()}")
        logger.warning("The trace %s belongs to another member; this one is written to %s.", path, own)
        return own, _open(own)


def _open(path: Path) -> int:
    """Locked for as long as it is open, also against another member of this process."""
    file = open_for_owner(path, os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(file)
        raise
    return file


def open_for_owner(path: Path, flags: int) -> int:
    """For its owner alone if it is new. OSError if it is a link, or another user's."""
    if path.is_symlink():
        # For a clear text: O_NOFOLLOW would fail with "too many levels of symbolic links".
        raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed", str(path))
    file = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        _check_owner(file)
    except BaseException:
        os.close(file)
        raise
    return file


def write_for_owner(path: Path, content: bytes) -> None:
    """Replace what is in the file. Raises as `open_for_owner`, and OSError if it cannot be written."""
    with os.fdopen(open_for_owner(path, os.O_WRONLY), "wb") as file:
        # A pipe or a terminal cannot be cut to a length.
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate()
        file.write(content)


def _check_owner(file: int) -> None:
    """PermissionError for a file of another user: in a shared directory that user could have put it there, to read it."""
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")


def as_bytes(line: str) -> bytes:
    """Half a character, as in the name of a file that is no UTF-8, becomes the escape that JSON has for it."""
    return line.encode(errors="backslashreplace")


if TYPE_CHECKING:
    from pathlib import Path


def trace_path(template: str, *, pid: int, **names: str) -> Path:
    """A path from the template; `names` are ids, which cannot lead out of its directory: `../../etc/x` becomes `%2E.%2F..%2Fetc%2Fx`."""
    from pathlib import Path  # noqa: PLC0415 - loads urllib

    return Path(template.format(pid=pid, **{key: _one_component(name) for key, name in names.items()}))


def _one_component(name: str) -> str:
    """As a URL would quote it, but for letters of all scripts. No dot at its start: two names may stand side by side."""
    quoted = "".join(letter if letter.isprintable() and letter not in "/\\%" else _quoted(letter) for letter in name)
    return _quoted(".") + quoted[1:] if quoted.startswith(".") else quoted


def _quoted(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode(errors="surrogatepass"))
