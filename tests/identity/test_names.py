"""Instance ids from numbers that platforms give, and refusals of random names."""

from __future__ import annotations

import socket

import pytest

from membership_client import ConfigError
from membership_client.identity import UnstableIdentityError, ecs_id, nomad_id, numbered_id, stateful_set_id

NOMAD = {"NOMAD_JOB_NAME": "shop", "NOMAD_GROUP_NAME": "tills", "NOMAD_ALLOC_INDEX": "2"}


@pytest.mark.parametrize("pod", ["till-0", "till-3", "my-till-12", "till-10000"])
def test_a_pod_of_a_stateful_set_is_known_by_its_name(pod: str) -> None:
    """The name has the pod's ordinal."""
    assert stateful_set_id(pod) == pod


@pytest.mark.parametrize("pod", ["web-7d9c5b6f4-x2x7k", "till-5d5b8f47cd-24567", "my-web-6bdcd9f88b-zzzzz"])
def test_a_deployments_pod_is_refused_and_the_deployment_named(pod: str) -> None:
    """It is refused even if its random suffix happens to be a number."""
    with pytest.raises(
        UnstableIdentityError, match=rf"a pod of the Deployment {pod.rsplit('-', 2)[0]}: .* StatefulSet"
    ):
        stateful_set_id(pod)


@pytest.mark.parametrize("pod", ["agent-x2x7k", "agent-24567", "import-0-b7x5z"])
def test_other_random_pods_are_refused(pod: str) -> None:
    """These are pods of a ReplicaSet, a DaemonSet or a Job."""
    with pytest.raises(UnstableIdentityError, match=r"random suffix"):
        stateful_set_id(pod)


@pytest.mark.parametrize("pod", ["laptop", "till-", "till-03", "till-x"])
def test_a_name_without_an_ordinal_is_refused(pod: str) -> None:
    """It is the name of a host outside Kubernetes, for instance."""
    with pytest.raises(UnstableIdentityError, match="does not end in the number"):
        stateful_set_id(pod)


def test_a_pod_whose_name_is_no_legal_instance_id_is_refused() -> None:
    """Otherwise the broker would refuse a given name at the first heartbeat."""
    with pytest.raises(ConfigError, match=r"group\.instance\.id"):
        stateful_set_id("my till-3")


def test_the_pods_name_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """POD_NAME comes first, because a host name can be set to something else."""
    monkeypatch.setenv("POD_NAME", "till-7")
    assert stateful_set_id() == "till-7"


def test_a_pods_host_name_is_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is used if the manifest does not set POD_NAME."""
    monkeypatch.setattr(socket, "gethostname", lambda: "till-7")
    monkeypatch.delenv("POD_NAME", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert stateful_set_id() == "till-7"


def test_a_hosts_name_is_not_taken_for_a_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of EC2 hosts end in a number, too, which is part of an address that the next host does not have."""
    monkeypatch.setattr(socket, "gethostname", lambda: "ip-10-0-3-17")
    for name in ("POD_NAME", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnstableIdentityError, match=r"ip-10-0-3-17 is the name of a host .* set POD_NAME"):
        stateful_set_id()


def test_a_nomad_allocation_is_known_by_job_group_and_index() -> None:
    """No random part of it is used."""
    assert nomad_id(NOMAD) == "shop-tills-2"


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        ({}, "is this a Nomad allocation"),
        (NOMAD | {"NOMAD_ALLOC_INDEX": "two"}, "no number"),
        (NOMAD | {"NOMAD_JOB_NAME": "shop/dispatch-1700000000-ab12cd34"}, "new every time"),
    ],
)
def test_what_nomad_does_not_number_is_refused(environ: dict[str, str], complaint: str) -> None:
    """A dispatched job has a new name with each run."""
    with pytest.raises(ConfigError, match=complaint):
        nomad_id(environ)


def test_an_ecs_task_is_known_by_what_its_definition_says() -> None:
    """ECS itself has no index."""
    assert ecs_id("shop", environ={"MEMBER_SLOT": "4"}) == "shop-4"


def test_an_ecs_task_without_a_number_is_told_what_to_do() -> None:
    """Every task has a new task id, which is therefore no identity."""
    with pytest.raises(
        UnstableIdentityError, match=r"no number that stays when a task is replaced.* one service per member"
    ):
        ecs_id("shop", environ={})


@pytest.mark.parametrize(("name", "slot"), [("", 0), ("shop", -1), ("shop/till", 0), ("s" * 250, 0)])
def test_what_kafka_would_refuse_is_refused_here(name: str, slot: int) -> None:
    """The error says what is wrong with the id."""
    with pytest.raises(ConfigError):
        numbered_id(name, slot)
