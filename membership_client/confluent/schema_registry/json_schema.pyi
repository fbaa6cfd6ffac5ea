from confluent_kafka.schema_registry.json_schema import *
