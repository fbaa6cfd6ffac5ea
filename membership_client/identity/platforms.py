"""Instance ids from numbers that platforms give: pods of a StatefulSet, tasks of ECS and Nomad, and any number with a name."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

from membership_client.arguments import checked_mapping, checked_text, checked_whole, optional, shown
from membership_client.config import require_instance_id
from membership_client.errors import ConfigError, MembershipError


class UnstableIdentityError(ConfigError):
    """The identity changes when a process is replaced, so the group would not recognise its successor."""


class SlotsTakenError(MembershipError):
    """Other processes of this host hold all slots."""

    advice = "Stop one of these processes, or allow more slots."


# --- pods of Kubernetes ----------------------------------------------------------------------------------------------


# The letters of Kubernetes' random suffixes: no vowels, and no letter that looks like another.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_DEPLOYMENT = re.compile(rf"(.+)-{_RANDOM}{{5,10}}-{_RANDOM}{{5}}")
_GENERATED = re.compile(rf"(.+)-{_RANDOM}{{5}}")
_ORDINAL = re.compile(r".+-(0|[1-9][0-9]*)")


def stateful_set_id(pod_name: str | None = None) -> str:
    """The pod's own name, such as `till-3`, which its replacement has, too.

    Without an argument it takes POD_NAME, if the pod's manifest sets it, or else the host name, which is the pod's name. A
    pod on its node's network (hostNetwork) has the node's host name instead: there the manifest must set POD_NAME.

    Raises:
        UnstableIdentityError: the name is random, has no number, or is the host name of a process outside Kubernetes. Five
            digits count as random, because Kubernetes may have drawn them, and a StatefulSet with that many pods does not exist.
    """
    name = optional(checked_text, "pod_name", pod_name) or os.environ.get("POD_NAME") or _host_name_of_pod()
    refuse_generated(name)
    if not _ORDINAL.fullmatch(name):
        raise UnstableIdentityError(f"{name} does not end in the number of a StatefulSet's pod, such as till-3.")
    require_instance_id(name)
    return name


def is_pod() -> bool:
    """Whether this process runs in a pod: Kubernetes sets the address of its API in every container."""
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _host_name_of_pod() -> str:
    host = socket.gethostname()
    if not is_pod():
        raise UnstableIdentityError(
            f"POD_NAME is not set, and {host} is the name of a host and not of a pod: set POD_NAME from metadata.name in "
            "the pod's manifest, or pass the pod's name. Outside Kubernetes take a HostSlot, or numbered_id."
        )
    return host


def refuse_generated(name: str) -> None:
    """UnstableIdentityError if the name ends in a random suffix of Kubernetes."""
    refuse_deployment(name)
    if _GENERATED.fullmatch(name):
        raise UnstableIdentityError(
            f"{name} has a random suffix, as pods of a ReplicaSet, DaemonSet or Job have: every replacement has another. "
            "Run the members as a StatefulSet; of an indexed Job take numbered_id with its JOB_COMPLETION_INDEX."
        )


def refuse_deployment(name: str) -> None:
    """UnstableIdentityError for the name of a Deployment's pod. Names of hosts do not look like it."""
    if match := _DEPLOYMENT.fullmatch(name):
        raise UnstableIdentityError(
            f"{name} is a pod of the Deployment {match[1]}: its suffix is random, and every replacement has another. Each "
            "rollout would bring members with new ids, and the group would wait for the old ones until their sessions end. Run the "
            "members as a StatefulSet, or without group.instance.id."
        )


# --- schedulers that number what they run ----------------------------------------------------------------------------


_DIGITS = re.compile(r"[0-9]{1,18}")


def numbered_id(name: str, number: int) -> str:
    """`<name>-<number>`: for a Spark slot (its partition number), an indexed Job, or any number of your own.

    The name must be the same after each restart. ConfigError if the result is not a legal group.instance.id.
    """
    if type(name) is str and not name:
        raise ConfigError("The name is empty; give one that stays the same over restarts.")
    instance_id = f"{checked_text('name', name)}-{checked_whole('number', number)}"
    require_instance_id(instance_id)
    return instance_id


def nomad_id(environ: Mapping[str, str] = os.environ) -> str:
    """`<job>-<group>-<index>` of a Nomad allocation.

    The index is unique among the allocations of one version of a job. A canary has the index of another allocation that
    still runs: group.instance.id.conflict decides whether it takes that one's place in the group or waits for it.
    """
    checked_mapping("environ", environ)
    names = ("NOMAD_JOB_NAME", "NOMAD_GROUP_NAME", "NOMAD_ALLOC_INDEX")
    if missing := [name for name in names if not environ.get(name)]:
        raise ConfigError(f"{' and '.join(missing)} not set: is this a Nomad allocation?")
    job, group, index = (checked_text(name, environ[name]) for name in names)
    if "/" in job:
        raise UnstableIdentityError(
            f"{job} is one run of a dispatched or periodic job, whose name is new every time. "
            "Give the members of such a job an id by numbered_id, with a name of your own."
        )
    return numbered_id(f"{job}-{group}", _number("NOMAD_ALLOC_INDEX", index))


def ecs_id(name: str, *, variable: str = "MEMBER_SLOT", environ: Mapping[str, str] = os.environ) -> str:
    """`<name>-<number>` of an ECS task, whose definition sets the number in an environment variable.

    ECS itself gives no stable numbers: the tasks of a service are alike, and every task has a new id.
    """
    given = checked_mapping("environ", environ).get(checked_text("variable", variable))
    if given is None:
        raise UnstableIdentityError(
            f"{variable} is not set, and ECS gives its tasks no number that stays when a task is replaced: ids and addresses are new "
            f"with every task. Run one service per member, each with a {variable} of its own in its task definition "
            "(0, 1, ...). If the tasks run on EC2 instances that stay, you can take a HostSlot instead."
        )
    return numbered_id(name, _number(variable, given))


def _number(variable: str, text: object) -> int:
    if not isinstance(text, str) or not _DIGITS.fullmatch(text):
        raise ConfigError(f"{variable} is {shown(text)}, which is no number.")
    return int(text)
