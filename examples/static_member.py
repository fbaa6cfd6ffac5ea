"""A static member: its replacement gets the same partitions, and no other member notices.

With `takeover` a replacement need not wait for the session of a killed predecessor to end. If the predecessor still
runs, it ends with FencedInstanceIdError, so use `takeover` only where one process at a time should have the id.
"""

import signal
import sys
import time

from membership_client import GroupMember, TopicPartition


def main(bootstrap_servers: str, instance_id: str) -> None:
    config = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "shop",
        "group.instance.id": instance_id,
        "group.instance.id.conflict": "takeover",
    }
    member = GroupMember(config)
    signal.signal(signal.SIGTERM, lambda *_: member.close(reason="terminated"))
    member.subscribe(["orders"])
    snapshot = member.wait_until(lambda now: bool(now.owned), timeout_s=60)
    print(f"{instance_id} owns {len(snapshot.owned)} partitions at epoch {snapshot.epoch}", flush=True)
    while member.health().live:
        handle(member.assignment())


def handle(partitions: frozenset[TopicPartition]) -> None:
    """Work on what is owned now, with whatever fetches your records."""
    time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
