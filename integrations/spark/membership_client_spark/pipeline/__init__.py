"""Epochs: bounded, replayable pieces of the topics, planned on the driver and read by Spark tasks."""
