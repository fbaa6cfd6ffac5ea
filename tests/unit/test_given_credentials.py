"""GroupMember.set_sasl_credentials(), without a broker."""

from __future__ import annotations

import pytest

from membership_client import ConfigError, GroupMember, MemberClosedError

CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "shop"}
LOGIN = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256"}
OLD = {"sasl.username": "alice", "sasl.password": "old-password-Lm28"}
NEW = "new-password-Xd63"


def test_new_credentials_are_those_of_the_next_connection() -> None:
    """The member's transport has them, and shows them nowhere."""
    with GroupMember(CONFIG | LOGIN | OLD) as member:
        member.set_sasl_credentials("bob", NEW)
        sasl = member._transport.security.sasl
        assert sasl is not None
        assert sasl.password is not None
        assert (sasl.username, sasl.password.reveal()) == ("bob", NEW)
        assert NEW not in repr(member._transport.security)


@pytest.mark.parametrize("config", [CONFIG, CONFIG | {"security.protocol": "ssl"}])
def test_without_a_password_there_is_none_to_replace(config: dict[str, str]) -> None:
    """A setting that has no effect is a mistake."""
    with GroupMember(config) as member, pytest.raises(ConfigError, match="PLAIN or SCRAM"):
        member.set_sasl_credentials("bob", NEW)


def test_a_closed_member_takes_no_credentials() -> None:
    """They would never be used."""
    member = GroupMember(CONFIG | LOGIN | OLD)
    member.close()
    with pytest.raises(MemberClosedError):
        member.set_sasl_credentials("bob", NEW)
