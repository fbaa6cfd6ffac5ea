"""Kafka group membership for Spark jobs: a slot keeps its identity when its executor is lost."""

from membership_client_spark.identity import slot_instance_id

__all__ = ["slot_instance_id"]
