"""The command `membership-client`."""
