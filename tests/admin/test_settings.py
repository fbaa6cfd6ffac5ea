"""The settings of a group that matter to membership, and what brokers allow."""

from __future__ import annotations

import uuid

import pytest

from membership_client.admin import GroupAdmin, Setting, SettingRefusedError, UnsupportedByBrokerError
from tests.integration.members import eventually
from tests.mock_cluster import MockCluster

SESSION, BEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"

pytestmark = pytest.mark.kafka


@pytest.fixture
def group() -> str:
    """A group that nobody has joined has settings, too."""
    return f"settings-{uuid.uuid4().hex[:8]}"


def setting(admin: GroupAdmin, group: str, name: str) -> Setting:
    return next(found for found in admin.settings(group) if found.name == name)


def test_settings_are_shown_with_defaults_and_limits(admin: GroupAdmin, group: str) -> None:
    """They are those of KIP-848, and the limits for a classic member's own choice."""
    session, beat, assignment, classic = admin.settings(group)
    assert session == Setting(name=SESSION, value=45_000, default=45_000, lowest=1000, highest=3_600_000)
    assert beat == Setting(name=BEAT, value=5000, default=5000, lowest=100, highest=60_000)
    assert assignment.name == ASSIGNMENT
    assert classic == Setting(name="session.timeout.ms", value=None, lowest=1000, highest=1_800_000)


def test_settings_are_changed_and_taken_back(admin: GroupAdmin, group: str) -> None:
    """A setting is changed for one group; without it the default applies again."""
    admin.change_settings(group, {SESSION: 60_000, BEAT: 2000, ASSIGNMENT: 2500})
    found = eventually(lambda: setting(admin, group, SESSION).is_own and setting(admin, group, SESSION), "the change")
    assert found == Setting(name=SESSION, value=60_000, is_own=True, default=45_000, lowest=1000, highest=3_600_000)
    assert setting(admin, group, BEAT).value == 2000
    assert (setting(admin, group, ASSIGNMENT).value, setting(admin, group, ASSIGNMENT).is_own) == (2500, True)
    admin.change_settings(group, {SESSION: None})
    eventually(lambda: setting(admin, group, SESSION).value == 45_000, "the default")
    assert setting(admin, group, BEAT).value == 2000


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({SESSION: 1}, "consumer.session.timeout.ms"),
        ({BEAT: 50_000, SESSION: 40_000}, "consumer.heartbeat.interval.ms"),
        ({"retention.ms": 1}, "retention.ms: unknown; the settings are"),
    ],
)
def test_what_brokers_do_not_allow_is_refused(
    admin: GroupAdmin, group: str, values: dict[str, int | None], complaint: str
) -> None:
    """The error has the broker's text, and nothing is changed."""
    with pytest.raises(SettingRefusedError, match=complaint):
        admin.change_settings(group, values)
    assert not any(found.is_own for found in admin.settings(group))


def test_a_broker_that_knows_no_settings_is_named(mock_cluster: MockCluster) -> None:
    """The error says what it lacks, and since when Kafka has it."""
    with (
        GroupAdmin(mock_cluster.bootstrap_servers) as admin,
        pytest.raises(UnsupportedByBrokerError, match=r"needs DescribeConfigs.* \(Kafka .* or later has it\)"),
    ):
        admin.settings("any")
