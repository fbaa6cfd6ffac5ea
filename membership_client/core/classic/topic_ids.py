"""Which topics a classic member's partitions are of: the protocol knows names only, and a name may come to be another topic's.

So every member looks its topics up when it has got them, and now and then afterwards. What it has of a topic that was
replaced it gives back, and joins again: positions in the old one mean nothing in the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from membership_client.core import reasons
from membership_client.core.copying import replace
from membership_client.core.member import Classic
from membership_client.subscriptions import TopicLayout


def replanned(classic: Classic, *, kept: frozenset[str], given: frozenset[str]) -> Classic:
    """A plan has come. A leader has just seen the topics it is about; everybody else looks them up."""
    classic = replace(
        classic,
        topic_ids={name: topic_id for name, topic_id in classic.topic_ids.items() if name in kept},
        replaced=classic.replaced & kept,
        unidentified=bool(given),
    )
    if not classic.leads or classic.layouts is None:
        return classic
    classic = identified(classic, classic.layouts, given)
    return replace(classic, rejoin=classic.rejoin or (reasons.TOPICS_CHANGED if classic.replaced else None))


def identified(classic: Classic, layouts: Mapping[str, TopicLayout], ours: frozenset[str]) -> Classic:
    """What the topics of these names are now; those that we knew as others were replaced."""
    known, now = classic.topic_ids, _ids_of(layouts, ours)
    replaced = frozenset(name for name, topic_id in now.items() if known.get(name, topic_id) != topic_id)
    return replace(
        classic, topic_ids={**now, **known}, replaced=(classic.replaced & ours) | replaced, unidentified=False
    )


def _ids_of(layouts: Mapping[str, TopicLayout], names: frozenset[str]) -> dict[str, UUID]:
    found = {name: layouts[name].topic_id for name in names if name in layouts}
    return {name: topic_id for name, topic_id in found.items() if topic_id is not None}
