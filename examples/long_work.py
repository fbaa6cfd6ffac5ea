"""Records that take minutes: heartbeats go on by themselves, and a revoke can be waited for or cut short.

`max.poll.interval.ms` counts only for programs that call `poll()`. A program that never polls is never removed for
being busy; one that polls gets warnings at half and at four fifths of that time.
"""

import sys
import threading

from membership_client import CallbackContext, GroupMember, RebalanceListener, TopicPartition


class Work(RebalanceListener):
    """One worker thread for all partitions; a revoke asks it to stop and waits until it has."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.done = threading.Event()

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self.stop.clear()
        self.done.clear()
        threading.Thread(target=self.work, daemon=True).start()

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self.stop.set()
        while not self.done.wait(0.05) and not context.lost:
            print(f"finishing; the group waits another {context.remaining_s():.0f} s", flush=True)

    def work(self) -> None:
        self.stop.wait(3600)
        self.done.set()


def main(bootstrap_servers: str, seconds: str) -> None:
    config = {"bootstrap.servers": bootstrap_servers, "group.id": "long-work"}
    with GroupMember(config, listener=Work()) as member:
        member.subscribe(["orders"])
        member.wait_until(lambda now: bool(now.owned), timeout_s=60)
        print("working", flush=True)
        threading.Event().wait(float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
