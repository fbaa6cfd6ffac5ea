"""The classic protocol: JoinGroup, SyncGroup, Heartbeat, and the leader of a group."""
