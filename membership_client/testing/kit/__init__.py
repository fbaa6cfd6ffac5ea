"""The test kit: programs with rebalance callbacks, played in virtual time or on an embedded broker, and checked."""
