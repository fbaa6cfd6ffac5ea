"""A member in a process of its own, to be stopped, killed and signalled by tests.

Takes one JSON argument: `config`, `topics` and `plan`, the name of what to do once stable. Prints a JSON line for every
change of state, every callback, and whatever the plan has to say.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from membership_client import (
    CallbackContext,
    ForkedMemberError,
    GroupMember,
    MemberClosedError,
    MembershipError,
    MemberState,
    RebalanceListener,
    TopicPartition,
)

if TYPE_CHECKING:
    from membership_client.core.machine import Step


def say(kind: str, **facts: Any) -> None:
    """One line, in one write, so that threads and forked children do not mix theirs."""
    os.write(1, (json.dumps({"kind": kind, "pid": os.getpid(), **facts}) + "\n").encode())


class SpeakingListener(RebalanceListener):
    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        say("assigned", partitions=partitions)

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        say("revoked", partitions=partitions)

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        say("lost", partitions=partitions)


class StuckListener(SpeakingListener):
    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        super().on_partitions_revoked(partitions, context)
        threading.Event().wait()


class ForkingListener(SpeakingListener):
    """Starts a child in the middle of a rebalance, which looks at the member and ends."""

    member: GroupMember

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        super().on_partitions_revoked(partitions, context)
        child = os.fork()
        if child == 0:
            say("child", live=self.member.health().live)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say("child ended", code=os.waitstatus_to_exitcode(status))


def say_state(step: Step) -> None:
    """An observer."""
    member = step.after
    if member.state is not step.before.state:
        owned = sorted(member.owned.named(member.names))
        say(member.state.value, member_id=member.member_id, epoch=member.epoch, owned=owned)


def stay(member: GroupMember) -> None:
    """Wait until the process is killed, or the member has ended."""
    try:
        member.wait_until(lambda snapshot: False)
    except MembershipError as error:
        holder = error.holder.member_id if error.holder else None
        say("error", type=type(error).__name__, text=str(error), holder=holder)


def close_on_sigterm(member: GroupMember) -> None:
    """Close the member in the signal handler."""

    def handle(*_: object) -> None:
        say("closed", report=str(member.close(reason="told to stop by SIGTERM")))
        sys.exit(0)

    signal.signal(signal.SIGTERM, handle)
    say("ready")
    while True:
        time.sleep(60)


def close_on_sigterm_while_waiting(member: GroupMember) -> None:
    """Like above, while the main thread is inside wait_until, which is the most likely place."""
    signal.signal(signal.SIGTERM, lambda *_: say("closed", report=str(member.close(reason="told to stop by SIGTERM"))))
    say("ready")
    try:
        member.wait_until(lambda snapshot: False)
    except MemberClosedError:
        say("woken")


def go_without_close(member: GroupMember) -> None:
    """Return from the main thread without a close."""
    say("going")


def go_when_told(member: GroupMember) -> None:
    """Return from the main thread at the end of its input."""
    say("ready")
    sys.stdin.read()
    say("going")


def hold_the_interpreter(member: GroupMember) -> None:
    """For as many seconds as each line says: calls into a PyDLL keep the lock that all threads need."""
    say("ready")
    for line in sys.stdin:
        ctypes.PyDLL(None).sleep(int(line))
        say("held")


def fork(member: GroupMember) -> None:
    """The child tries to use the member and ends as processes do; the parent then stays."""
    child = os.fork()
    if child == 0:
        use_in_child(member)
        return
    _, status = os.waitpid(child, 0)
    say("child ended", code=os.waitstatus_to_exitcode(status))
    stay(member)


def fork_and_join(member: GroupMember) -> None:
    """The child makes a member of its own; the parent stays."""
    if os.fork():
        stay(member)
        return
    settings = json.loads(sys.argv[1])
    with GroupMember(settings["config"], listener=SpeakingListener()) as own:
        own.subscribe(settings["topics"])
        owned = own.wait_until(lambda snapshot: snapshot.state is MemberState.STABLE and bool(snapshot.owned)).owned
        say("child joined", owned=sorted(owned))
        sys.stdin.read()
    say("child left")


def use_in_child(member: GroupMember) -> None:
    """Every way to use it is refused, except to look and to close."""
    uses = {
        "poll": member.poll,
        "subscribe": lambda: member.subscribe(["any"]),
        "unsubscribe": member.unsubscribe,
        "wait_until": lambda: member.wait_until(MemberState.STABLE, 1),
    }
    refused = [name for name, use in uses.items() if is_refused(use)]
    threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    say("child", refused=refused, live=member.health().live, report=str(member.close()), threads=threads)


def is_refused(use: Any) -> bool:
    try:
        use()
    except ForkedMemberError:
        return True
    return False


PLANS = {
    "stay": stay,
    "close on sigterm": close_on_sigterm,
    "close on sigterm while waiting": close_on_sigterm_while_waiting,
    "fork and join": fork_and_join,
    "go without close": go_without_close,
    "go with a stuck callback": go_without_close,
    "go when told": go_when_told,
    "fork": fork,
    "fork in a revoke": stay,
    "hold the interpreter": hold_the_interpreter,
}
LISTENERS = {"go with a stuck callback": StuckListener, "fork in a revoke": ForkingListener}


def main() -> None:
    task = json.loads(sys.argv[1])
    listener = LISTENERS.get(task["plan"], SpeakingListener)()
    member = GroupMember(task["config"], listener=listener, observers=[say_state])
    if isinstance(listener, ForkingListener):
        listener.member = member
    member.subscribe(task["topics"])
    member.wait_until(lambda snapshot: snapshot.state is MemberState.STABLE and bool(snapshot.owned))
    PLANS[task["plan"]](member)


if __name__ == "__main__":
    main()
