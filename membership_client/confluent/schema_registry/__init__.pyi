from confluent_kafka.schema_registry import *
