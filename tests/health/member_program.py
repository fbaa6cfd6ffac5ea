"""A consumer with both kinds of probes in a process of its own: `BOOTSTRAP FILE`. Prints its port, and reads commands from stdin."""

from __future__ import annotations

import sys
import threading

from membership_client import Consumer, health


def stop_on_order(stopped: threading.Event) -> None:
    sys.stdin.readline()
    stopped.set()


def main() -> None:
    bootstrap, file = sys.argv[1:]
    stopped = threading.Event()
    config = {"bootstrap.servers": bootstrap, "group.id": "shop", "max.poll.interval.ms": 4000, "log_level": 0}
    with Consumer(config) as consumer, health.serve(consumer, port=0) as server, health.write(file, every_s=0.2):
        consumer.subscribe(["orders"])
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        threading.Thread(target=stop_on_order, args=(stopped,), daemon=True).start()
        while not stopped.is_set():
            consumer.poll(0.1)
        threading.Event().wait()  # The application is stuck.


if __name__ == "__main__":
    main()
