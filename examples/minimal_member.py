"""Join a group, see every change and its cause, leave with a reason."""

import sys

from membership_client import GroupMember, MemberState, RebalanceListener


class Printer(RebalanceListener):
    def on_partitions_assigned(self, partitions, context):
        print("assigned", *partitions, "because", context.cause)

    def on_partitions_revoked(self, partitions, context):
        print("revoked", *partitions, "because", context.cause)


config = {"bootstrap.servers": sys.argv[1], "group.id": "shop"}
with GroupMember(config, listener=Printer()) as member:
    member.subscribe(["orders"])
    # The first assignment may be empty: brokers wait a second for others that join, too.
    member.wait_until(lambda now: now.state is MemberState.STABLE and now.owned, timeout_s=30)
    print(member.health().why)
    print(member.close(reason="end of the example"))
