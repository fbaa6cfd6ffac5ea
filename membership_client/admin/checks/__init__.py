"""Finds what stands in the way of a change of a group: gathers facts from the brokers, then applies pure rules to them."""
