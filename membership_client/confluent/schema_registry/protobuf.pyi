from confluent_kafka.schema_registry.protobuf import *
