"""The commands `membership-client groups` and `watch`, and what they print."""
