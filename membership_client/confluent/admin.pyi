from confluent_kafka.admin import *
