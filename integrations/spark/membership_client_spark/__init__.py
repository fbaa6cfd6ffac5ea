"""Kafka group membership for Spark jobs: a slot keeps its identity when its executor is lost."""

from membership_client_spark.consume import SlotJob, consume
from membership_client_spark.errors import SlotFailedError, SparkSettingsError, SupersededError
from membership_client_spark.identity import slot_instance_id
from membership_client_spark.roster import SlotProgress
from membership_client_spark.slot import Slot

__all__ = [
    "Slot",
    "SlotFailedError",
    "SlotJob",
    "SlotProgress",
    "SparkSettingsError",
    "SupersededError",
    "consume",
    "slot_instance_id",
]
