"""Each member has a colour of its own, which its next process inherits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from membership_client.demo.board import Board

# Okabe and Ito's colours, which people who confuse red and green can tell apart.
_COLOURS = ("#56b4e9", "#e69f00", "#3fbf8f", "#cc79a7")


class Colours:
    """Looks colours up by name, in the order in which members first appeared."""

    def __init__(self, board: Board) -> None:
        self._colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(board.rows)}

    def __getitem__(self, name: str) -> str:
        return self._colours[name]
