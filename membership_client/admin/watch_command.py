"""The command `membership-client watch`."""

from __future__ import annotations

import json
import sys
import time

from membership_client.admin import as_json
from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.picture import lines
from membership_client.admin.watching import Watch, Watched
from membership_client.errors import ConnectionProblem, MembershipError

_CLEAR = "\x1b[H\x1b[J"


def watch(bootstrap_servers: str, group_id: str, *, every_s: float, once: bool, machine: bool) -> int:
    """Shows the group until interrupted, or once. 2 if it cannot be looked at."""
    seen = Watch()
    with GroupAdmin(bootstrap_servers) as admin:
        try:
            while True:
                _look(admin, group_id, seen, machine=machine, once=once)
                if once:
                    return 0
                time.sleep(every_s)
        except KeyboardInterrupt:
            return 0
        except MembershipError as error:
            print(error, file=sys.stderr)
            return 2


def _look(admin: GroupAdmin, group_id: str, seen: Watch, *, machine: bool, once: bool) -> None:
    """A cluster that does not answer for a while is told, and asked again; once it must answer."""
    try:
        watched = seen.see(admin.describe(group_id), time.monotonic())
    except ConnectionProblem as problem:
        if once:
            raise
        print(f"{time.strftime('%H:%M:%S')}  {problem}", file=sys.stderr)
        return
    _show(watched, machine=machine, clears=not once and sys.stdout.isatty())


def _show(watched: Watched, *, machine: bool, clears: bool) -> None:
    if machine:
        print(json.dumps(as_json.watched(watched)), flush=True)
        return
    text = "\n".join([time.strftime("%H:%M:%S"), *lines(watched), ""])
    print(_CLEAR + text if clears else text, flush=True)
