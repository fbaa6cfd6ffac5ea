from confluent_kafka.serialization import *
