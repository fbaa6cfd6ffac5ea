"""Passwords, keys and tokens, held so that nothing shows them by accident."""

from __future__ import annotations

from typing import NoReturn

HIDDEN = "***"


class Secret:
    """A text that `repr`, `str`, formatting, pickles and copies do not carry; `reveal()` is the one way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def hide_in(self, text: str) -> str:
        """`text` without this secret: a peer may send back what it was told."""
        return text.replace(self._text, HIDDEN)

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        from hmac import compare_digest  # noqa: PLC0415 - loads OpenSSL's hashes, which few members need

        return isinstance(other, Secret) and compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not pickled: send the configuration that it came from, over a channel you trust.")
