"""From the files of a trace to what happened to each member and partition of a group."""
