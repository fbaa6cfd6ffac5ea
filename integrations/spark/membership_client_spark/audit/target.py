"""Where an audit is written: a directory that is empty, or that an earlier audit has marked as its own."""

from __future__ import annotations

from pathlib import Path

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from membership_client import MembershipError

MARK = "_membership_client_audit"
"""The underscore keeps Spark from taking it for data."""

_TEXT = b"The folders beside this file, and index.html, are replaced by the next audit that is written here.\n"


class AuditTargetError(MembershipError, ValueError):
    """An audit is not written over what is not an audit's."""

    advice = "Give a path that does not exist yet, an empty directory, or one that an earlier audit was written to."


def open_target(path: str) -> tuple[FileSystem, str]:
    """The file system and the directory in it, as pyarrow sees them, made and marked.

    AuditTargetError, and nothing is changed, if there is something that no audit wrote.
    """
    try:
        storage, folder = FileSystem.from_uri(path if "://" in path else Path(path).absolute().as_uri())
        _check(storage, folder)
        storage.create_dir(folder, recursive=True)
        with storage.open_output_stream(f"{folder}/{MARK}") as mark:
            mark.write(_TEXT)
    except AuditTargetError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise AuditTargetError(f"{path} cannot be written to: {error}.") from error
    return storage, folder


def _check(storage: FileSystem, folder: str) -> None:
    found = storage.get_file_info(folder)
    if found.type == FileType.NotFound:
        return
    if found.type != FileType.Directory:
        raise AuditTargetError(f"{folder} is no directory.")
    inside = storage.get_file_info(FileSelector(folder))
    if inside and not _is_marked(storage, folder, inside):
        names = ", ".join(sorted(one.base_name for one in inside)[:3])
        raise AuditTargetError(f"{folder} is not empty ({names}), and no audit was written there before.")


def _is_marked(storage: FileSystem, folder: str, inside: list[FileInfo]) -> bool:
    if not any(one.base_name == MARK and one.type == FileType.File for one in inside):
        return False
    with storage.open_input_stream(f"{folder}/{MARK}") as mark:
        return bool(mark.read(len(_TEXT) + 1) == _TEXT)
