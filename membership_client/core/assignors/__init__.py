"""Assignors for the leader of a classic group, as pure functions of subscriptions and topics."""
