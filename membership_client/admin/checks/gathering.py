"""Asks the brokers for the facts of a check: as the administrator, and as the user of the configuration that is checked."""

from __future__ import annotations

import contextlib

from membership_client.admin import describing
from membership_client.admin import settings as group_settings
from membership_client.admin.asking import Asker
from membership_client.admin.checks.client_config import ReadConfig
from membership_client.admin.checks.facts import BrokerFacts, ClientFacts, GroupFacts, Rights
from membership_client.admin.errors import AdminError, NoAnswerError, NotAuthorizedError, expect
from membership_client.admin.views import GroupView
from membership_client.errors import AuthenticationError, CertificateError, ConfigError
from membership_client.net.admin_requests import (
    BrokerDescribed,
    ConfigsDescribed,
    DescribeBroker,
    DescribeConfigs,
    DescribeGroupRights,
    DescribeTopicRights,
    GroupRightsDescribed,
    Operation,
    Resource,
    TopicRightsDescribed,
)
from membership_client.types import Node

BROKER_SETTINGS = (
    "group.coordinator.rebalance.protocols",
    "group.consumer.migration.policy",
    "group.consumer.max.size",
    "group.consumer.assignors",
    "group.max.size",
)


def gather(asker: Asker, view: GroupView, read: ReadConfig | None, patterns: tuple[str, ...] = ()) -> GroupFacts:
    """Gather all facts. Raises the errors of `GroupAdmin.describe`. Settings that the user may not read are left out."""
    brokers = [(node, _described(asker, node)) for _, node in sorted(asker.leaders().brokers.items())]
    topics = expect(TopicRightsDescribed, asker.ask(DescribeTopicRights(topics=None)), None, "be asked for its topics")
    return GroupFacts(
        view=view,
        brokers=tuple(BrokerFacts(node, described.apis, _settings(asker, node)) for node, described in brokers),
        features=brokers[0][1].features if brokers else {},
        topics={name: topic.partitions for name, topic in topics.topics.items()},
        settings=_group_settings(asker, view.group_id),
        client=None if read is None else _client(asker, view, read),
        patterns=patterns,
    )


def _described(asker: Asker, node: Node) -> BrokerDescribed:
    return expect(BrokerDescribed, asker.ask(DescribeBroker(), node), None, "be asked for its versions")


def _settings(asker: Asker, node: Node) -> dict[str, str] | None:
    answer = asker.ask(DescribeConfigs(resource=Resource.BROKER, name=str(node.node_id), keys=BROKER_SETTINGS), node)
    if not isinstance(answer, ConfigsDescribed):
        return None
    return {entry.name: entry.value for entry in answer.entries if entry.value is not None}


def _group_settings(asker: Asker, group_id: str) -> dict[str, group_settings.Setting]:
    try:
        return {setting.name: setting for setting in group_settings.settings(asker, group_id)}
    except (AdminError, NotAuthorizedError):  # The brokers are too old for settings of groups, or deny access.
        return {}


# --- the configuration, and its user ---------------------------------------------------------------------------------


def _client(asker: Asker, view: GroupView, read: ReadConfig) -> ClientFacts:
    return ClientFacts(
        member=read.member,
        given=read.given,
        protocol=read.protocol,
        problems=read.problems,
        rights=_rights(asker, view, read),
    )


def _rights(asker: Asker, view: GroupView, read: ReadConfig) -> Rights | None:
    """Ask as the user of the configuration, over its own connections. None if the security keys are refused."""
    if read.security is None:
        return None
    topics = topics_of(asker, view)
    try:
        with contextlib.closing(asker.as_user(read.security, read.bootstrap)) as user:
            return _asked_for_rights(user, view.group_id, topics)
    except (AuthenticationError, CertificateError, ConfigError, NoAnswerError) as problem:
        return Rights(frozenset(), {}, problem=str(problem))


def _asked_for_rights(user: Asker, group_id: str, topics: frozenset[str]) -> Rights:
    found = expect(
        TopicRightsDescribed, user.ask(DescribeTopicRights(topics=topics)), None, "be asked for rights of topics"
    )
    of_topics = {name: rights.operations for name, rights in found.topics.items() if rights.operations is not None}
    return Rights(
        group=_group_rights(user, group_id), topics=of_topics | dict.fromkeys(found.denied, frozenset[Operation]())
    )


def _group_rights(user: Asker, group_id: str) -> frozenset[Operation] | None:
    try:
        answer = user.ask_coordinator(group_id, DescribeGroupRights(group_id=group_id))
        return expect(GroupRightsDescribed, answer, group_id, "be asked for its rights").operations
    except NotAuthorizedError:
        return frozenset()


def topics_of(asker: Asker, view: GroupView) -> frozenset[str]:
    """Topics of the members; if no member names one, topics of the committed offsets."""
    named = frozenset(topic for member in view.members for topic in member.topics)
    if named:
        return named
    try:
        return frozenset(place.topic for place in describing.all_committed(asker, view.group_id))
    except NotAuthorizedError:
        return frozenset()
