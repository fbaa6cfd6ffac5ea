from confluent_kafka.schema_registry.avro import *
