"""A Kafka cluster in this process, in pure Python: `EmbeddedKafka` and its parts."""
