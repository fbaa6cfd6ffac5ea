"""Text that others chose, shown on a terminal: nothing in it may steer that."""

from __future__ import annotations


def harmless(line: str) -> str:
    """One line, as long as before, with a replacement character for each that does not print."""
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)
