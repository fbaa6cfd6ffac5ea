"""Identities that are a name and a number, from schedulers that number what they run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from membership_client.arguments import checked_mapping, checked_text, checked_whole, shown
from membership_client.config import require_instance_id
from membership_client.errors import ConfigError
from membership_client.identity.errors import UnstableIdentityError

_DIGITS = re.compile(r"[0-9]{1,18}")


def numbered_id(name: str, number: int) -> str:
    """`<name>-<number>`: for a Spark slot (its partition number), an indexed Job, or any count of your own.

    The name is yours, and the same over restarts. ConfigError if the result is not a legal group.instance.id.
    """
    instance_id = f"{checked_text('name', name)}-{checked_whole('number', number)}"
    require_instance_id(instance_id)
    return instance_id


def nomad_id(environ: Mapping[str, str] = os.environ) -> str:
    """`<job>-<group>-<index>` of a Nomad allocation.

    The index is unique among the allocations of one version of a job. A canary runs beside the allocation whose index it
    has, and takes its place in the group or waits for it, by group.instance.id.conflict.
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
    """`<name>-<number>` of an ECS task, whose definition says the number in an environment variable.

    ECS itself numbers nothing: the tasks of a service are alike, and a task's id is new with every task.
    """
    given = checked_mapping("environ", environ).get(checked_text("variable", variable))
    if given is None:
        raise UnstableIdentityError(
            f"{variable} is not set, and ECS gives its tasks no number that would outlast them: ids and addresses are new "
            f"with every task. Run one service per member, each with a {variable} of its own in its task definition "
            "(0, 1, ...); or, with tasks on EC2 instances that stay, a HostSlot."
        )
    return numbered_id(name, _number(variable, given))


def _number(variable: str, text: object) -> int:
    if not isinstance(text, str) or not _DIGITS.fullmatch(text):
        raise ConfigError(f"{variable} is {shown(text)}, which is no number.")
    return int(text)
