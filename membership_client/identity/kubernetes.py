"""Identities of pods: a StatefulSet's are numbered and come back, all others have random names."""

from __future__ import annotations

import os
import re
import socket

from membership_client.arguments import checked_text, optional
from membership_client.config import require_instance_id
from membership_client.identity.errors import UnstableIdentityError

# What Kubernetes makes random suffixes of: no vowels, and nothing that could be mistaken for another.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_DEPLOYMENT = re.compile(rf"(.+)-{_RANDOM}{{5,10}}-{_RANDOM}{{5}}")
_GENERATED = re.compile(rf"(.+)-{_RANDOM}{{5}}")
_ORDINAL = re.compile(r".+-(0|[1-9][0-9]*)")


def stateful_set_id(pod_name: str | None = None) -> str:
    """The pod's own name, such as `till-3`: its replacement has the same.

    Without an argument POD_NAME, if the pod's manifest sets it, or else the host name, which a pod shares. A pod on its
    node's own network (hostNetwork) has the node's host name instead: there the manifest must set POD_NAME.

    Raises:
        UnstableIdentityError: the name is random, or has no number. Five digits that Kubernetes may have drawn at random
            count as random: a StatefulSet has not got that far. Or this is no pod, and its host name means something else.
    """
    name = optional(checked_text, "pod_name", pod_name) or os.environ.get("POD_NAME") or _host_name_of_pod()
    refuse_generated(name)
    if not _ORDINAL.fullmatch(name):
        raise UnstableIdentityError(f"{name} does not end in the number of a StatefulSet's pod, such as till-3.")
    require_instance_id(name)
    return name


def is_pod() -> bool:
    """Kubernetes tells every container of every pod where its API is."""
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
    """UnstableIdentityError if Kubernetes made up the end of this name."""
    refuse_deployment(name)
    if _GENERATED.fullmatch(name):
        raise UnstableIdentityError(
            f"{name} has a random suffix, as pods of a ReplicaSet, DaemonSet or Job have: every replacement has another. "
            "Run the members as a StatefulSet; of an indexed Job take numbered_id with its JOB_COMPLETION_INDEX."
        )


def refuse_deployment(name: str) -> None:
    """UnstableIdentityError if this is how a Deployment's pods are named: of the made-up ends, the one that hosts lack."""
    if match := _DEPLOYMENT.fullmatch(name):
        raise UnstableIdentityError(
            f"{name} is a pod of the Deployment {match[1]}: its suffix is random, and every replacement has another. Each "
            "rollout would bring strangers, and the group would wait for the old ones until their sessions end. Run the "
            "members as a StatefulSet, or without group.instance.id."
        )
