"""Peers whose callbacks run inside polls, and therefore on the thread that polls."""

from __future__ import annotations

import threading
from abc import abstractmethod

from tests.peers.peer import Peer, Seat


class PollingPeer(Peer):
    """Builds, polls and closes its client on one thread, as both clients ask for."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._leaving = threading.Event()
        self._for_good = False
        self._error: str | None = None
        self._member_id = ""
        self._asked_after = -1
        self._thread = threading.Thread(target=self._run, name=f"{seat.group_id}-poll", daemon=True)

    @property
    def error(self) -> str | None:
        return self._error

    @property
    def member_id(self) -> str:
        return self._member_id

    def join(self) -> None:
        self._thread.start()

    def leave_for_good(self) -> None:
        self._for_good = True
        self.leave()

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._open()
            while not self._leaving.is_set() and self._error is None:
                self._error = self._poll()
                self._learn_member_id()
        except Exception as error:  # noqa: BLE001 - clients raise errors of their own, and tests read what they say
            self._error = repr(error)
        finally:
            self._close()

    def _learn_member_id(self) -> None:
        """Again after every callback: who was thrown out comes back under another id."""
        count = len(self.history.changes)
        if not self._member_id or count != self._asked_after:
            self._member_id, self._asked_after = self._ask_member_id(), count

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _poll(self) -> str | None:
        """Polls once; the error, if there was one that ends the membership."""

    @abstractmethod
    def _ask_member_id(self) -> str:
        """On the polling thread only, for neither client promises that another may ask. Empty before the join."""

    @abstractmethod
    def _close(self) -> None: ...
