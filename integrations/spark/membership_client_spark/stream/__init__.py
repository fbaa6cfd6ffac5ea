"""`readStream.format("kafka-group")`: micro-batches of Structured Streaming, planned by static members of a group."""
