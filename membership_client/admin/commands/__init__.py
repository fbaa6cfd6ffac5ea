"""The commands `membership-client groups` and `membership-client watch`, and their output."""
