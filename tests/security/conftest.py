"""A broker with a listener for each mechanism, shared by all tests of this directory, and an identity provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.security.secure_kafka import SecureKafka, secure_kafka
from tests.security.token_endpoint import TokenEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with secure_kafka(tmp_path_factory.mktemp("certificates")) as started:
        yield started


@pytest.fixture(scope="session")
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as started:
        yield started
