"""Configuration and key stores of Kafka's own Java tools."""
