from confluent_kafka.aio import *
