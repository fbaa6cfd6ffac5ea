"""The threads of a member, and what they run."""
