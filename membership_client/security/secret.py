"""A type for passwords, keys and tokens, which logs, reprs and pickles cannot show by accident."""

from __future__ import annotations

from typing import NoReturn

HIDDEN = "***"


class Secret:
    """A text that only `reveal()` returns. `repr`, `str` and formatting hide it; pickling and copying raise TypeError."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def hide_in(self, text: str) -> str:
        """`text` without this secret, plain or encoded as in JSON, URLs, forms and Latin-1: a peer may send it back.

        Upper and lower case count as equal, because the digits of an escape such as %C3 may be written in either.
        """
        import re  # noqa: PLC0415 - only errors need it

        forms = sorted(map(re.escape, self._forms()), key=len, reverse=True)
        return re.sub("|".join(forms), HIDDEN, text, flags=re.IGNORECASE) if self._text else text

    def _forms(self) -> tuple[str, ...]:
        import json  # noqa: PLC0415 - only errors need these
        from urllib.parse import quote, quote_plus  # noqa: PLC0415

        as_latin_1 = self._text.encode().decode("latin-1")
        return self._text, as_latin_1, json.dumps(self._text)[1:-1], quote(self._text, safe=""), quote_plus(self._text)

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        from hmac import compare_digest  # noqa: PLC0415 - loads OpenSSL's hashes, which few members need

        return isinstance(other, Secret) and compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A secret cannot be pickled: send the configuration that it came from, over a channel you trust."
        )
