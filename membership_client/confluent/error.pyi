from confluent_kafka.error import *
