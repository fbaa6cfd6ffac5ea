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
    """Appends lines to a file. If another process writes that file, the pid of this process is added to the name.

    Each line is one unbuffered `write`, so it survives SIGKILL of this process. An error of the disk ends the trace with a
    warning and does not reach the member. A symbolic link is not followed, and the file of another user is not written.
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
        except (OSError, ValueError) as error:  # A name with a NUL is a ValueError.
            self._give_up(error)

    @property
    def path(self) -> Path:
        return self._path

    def begin(self, header: str) -> None:
        """Write the header that begins a run, or a new file. If it fills half of the limit or more, the limit grows with it."""
        try:
            self._append(header)
        except OSError as error:
            self._give_up(error)
        self._full_at = max(self._max_bytes, 2 * len(header))

    def write(self, line: str) -> bool:
        """Write a line. True if the file was full: the line is in it, and a new file was begun, which needs a header."""
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
            # After a line that was written in part, the next line would continue it.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def forget(self) -> None:
        """In a forked child: close its copy of the descriptor, which would keep the file locked after the end of the parent."""
        self.close()

    def _rotate(self) -> bool:
        """Rename `trace` to `trace.1`, `trace.1` to `trace.2`, and so on; the oldest file is deleted."""
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
        # A pipe, or /dev/null, must never be renamed.
        self._rotates, self._size = stat.S_ISREG(found.st_mode), found.st_size
        if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":
            # The previous run may have ended in the middle of a line, which this run must not continue.
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
    """Open the file and lock it until it is closed, also against other members of this process."""
    file = open_for_owner(path, os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(file)
        raise
    return file


def open_for_owner(path: Path, flags: int) -> int:
    """Open the file; only its owner may read a new one. OSError if it is a symbolic link, or belongs to another user."""
    if path.is_symlink():
        # O_NOFOLLOW alone would say "too many levels of symbolic links".
        raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed", str(path))
    file = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        _check_owner(file)
    except BaseException:
        os.close(file)
        raise
    return file


def write_for_owner(path: Path, content: bytes) -> None:
    """Replace the content of the file. OSError as from `open_for_owner`, or if it cannot be written."""
    with os.fdopen(open_for_owner(path, os.O_WRONLY), "wb") as file:
        # A pipe or a terminal cannot be truncated.
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate()
        file.write(content)


def _check_owner(file: int) -> None:
    """PermissionError for a file of another user, who could have made it in a shared directory in order to read the trace."""
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")


def as_bytes(line: str) -> bytes:
    """UTF-8 of the line. A lone surrogate, as in a file name that is no UTF-8, becomes JSON's escape for it."""
    return line.encode(errors="backslashreplace")


if TYPE_CHECKING:
    from pathlib import Path


def trace_path(template: str, *, pid: int, **names: str) -> Path:
    """A path from the template. Ids in `names` cannot leave its directory: `../../etc/x` becomes `%2E.%2F..%2Fetc%2Fx`."""
    from pathlib import Path  # noqa: PLC0415 - loads urllib

    return Path(template.format(pid=pid, **{key: _one_component(name) for key, name in names.items()}))


def _one_component(name: str) -> str:
    """The name quoted as in a URL, except that letters of all scripts stay. A first dot is quoted too: `..` cannot arise."""
    quoted = "".join(letter if letter.isprintable() and letter not in "/\\%" else _quoted(letter) for letter in name)
    return _quoted(".") + quoted[1:] if quoted.startswith(".") else quoted


def _quoted(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode(errors="surrogatepass"))
