"""A Kafka cluster in this process, in pure Python: `EmbeddedKafka`, and what it consists of."""
