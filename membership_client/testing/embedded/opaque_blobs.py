"""Bytes that classic members send each other. A broker reads them only in groups with members of both protocols."""

from __future__ import annotations

from membership_client.core.events import JoinGroup
from membership_client.net.reader import Undecodable
from membership_client.subscriptions import MemberSubscription
from membership_client.testing.fake_classic import ClassicMember, OpaqueJoin
from membership_client.types import TopicPartition


class OpaqueBlobs:
    """`Blobs` as bytes. Bytes that cannot be read count as empty."""

    def subscription(self, said: JoinGroup) -> MemberSubscription:
        """The subscription in the bytes of the first strategy."""
        from membership_client.net.consumer_blobs import SubscriptionReader  # noqa: PLC0415 - it loads kio

        assert isinstance(said, OpaqueJoin)
        name, blob = said.metadata[0]
        try:
            return SubscriptionReader(name).read(said.member_id, said.instance_id, blob)
        except Undecodable:
            return MemberSubscription(member_id=said.member_id, instance_id=said.instance_id, topics=frozenset())

    def share(self, member: ClassicMember) -> frozenset[TopicPartition]:
        return readable_share(member.opaque_share)

    def written(self, share: frozenset[TopicPartition]) -> bytes:
        from membership_client.net.consumer_blobs import encode_assignment  # noqa: PLC0415 - it loads kio

        return encode_assignment(share)


def readable_share(share: bytes) -> frozenset[TopicPartition]:
    """The partitions in the bytes; empty if the bytes are not those of a consumer."""
    from membership_client.net.consumer_blobs import decode_assignment  # noqa: PLC0415 - it loads kio

    try:
        return decode_assignment(share) if share else frozenset()
    except Undecodable:
        return frozenset()
