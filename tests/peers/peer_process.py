"""One peer, in this process alone: `python -m tests.peers.peer_process KIND SEAT`, the seat as JSON.

Joins, prints a JSON line for every callback, and leaves at the end of its input.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from contextlib import AbstractContextManager

from tests.peers.history import Change
from tests.peers.jvm import PeerJvm
from tests.peers.kinds import new_peer
from tests.peers.peer import KINDS, Peer, Seat

_LOOK_S = 0.01


def main() -> None:
    kind = next(kind for kind in KINDS if kind == sys.argv[1])
    seat = Seat(**json.loads(sys.argv[2]))
    jvm: AbstractContextManager[PeerJvm | None] = PeerJvm() if kind == "java" else contextlib.nullcontext()
    with jvm as running:
        peer = new_peer(kind, seat, running)
        peer.join()
        told = threading.Event()
        teller = threading.Thread(target=tell, args=(peer, told))
        teller.start()
        sys.stdin.read()
        peer.leave()
        told.set()
        teller.join()


def tell(peer: Peer, over: threading.Event) -> None:
    """Every change, until it is over and all has been told. Some peers know their id only after the first of them."""
    count = 0
    while not over.is_set() or count < len(peer.history.changes):
        for change in peer.history.changes[count:] if peer.member_id else ():
            say(peer, change)
            count += 1
        time.sleep(_LOOK_S)


def say(peer: Peer, change: Change) -> None:
    line = {
        "kind": change.kind,
        "partitions": sorted(change.partitions),
        "at": change.at,
        "member_id": peer.member_id,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
