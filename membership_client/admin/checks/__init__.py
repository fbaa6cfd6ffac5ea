"""Looks for what stands in the way of a change of a group, before a member is restarted: facts first, then pure rules."""
